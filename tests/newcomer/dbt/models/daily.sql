{{ config(materialized="table", partition_by=["day"]) }}
select 1 as id, date '2026-01-01' as day, 10 as amount
union all
select 2, date '2026-01-02', 20
