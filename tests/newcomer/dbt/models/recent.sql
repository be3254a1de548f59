{{ config(materialized=var("recent")) }}
select * from {{ ref("merged") }} where day > date '2026-01-01'
