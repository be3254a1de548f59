{{ config(materialized="table", partition_by="day", tblproperties={"sort_by": "id"}, persist_docs={"relation": true, "columns": true}) }}
select {{ var("amount") }} as amount, {{ var("id") }} as id, date '2026-01-01' as day
