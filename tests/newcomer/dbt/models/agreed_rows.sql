{{ config(materialized="incremental", incremental_strategy="merge", unique_key="id", on_schema_change="append_new_columns") }}
select {{ var("id") }} as id, {{ var("amount") }} as amount
