{{ config(materialized="table") }}
select * from values (1, timestamp '2026-01-01 10:00:00'), (2, timestamp '2026-01-02 11:00:00') as t(id, at)
