{{ config(materialized="incremental", incremental_strategy="insert_overwrite", partition_by=["day"]) }}
select id, amount + {% if is_incremental() %} 5 {% else %} 0 {% endif %} as amount, day from {{ ref("daily") }}
{% if is_incremental() %} where day = date '2026-01-02' {% endif %}
