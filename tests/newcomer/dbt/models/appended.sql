{{ config(materialized="incremental", on_schema_change="append_new_columns") }}
{% if var("day") == 1 %}
select 1 as id, 'a' as old
{% else %}
select true as fresh, {{ var("day") }} as id
{% endif %}
