{{ config(materialized="incremental", incremental_strategy="merge", unique_key="id") }}
select id, day, amount * {% if is_incremental() %} 10 {% else %} 1 {% endif %} as amount from {{ ref("daily") }}
