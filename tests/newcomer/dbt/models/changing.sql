{{ config(materialized="incremental", incremental_strategy="merge", unique_key="id", on_schema_change="sync_all_columns") }}
{% if var("day") == 1 %}
select 1 as id, 10 as amount, 'a' as old
union all select 2, 20, 'b'
{% else %}
select 2 as id, 5000000000 as amount, true as fresh
union all select 3, 30, false
{% endif %}
