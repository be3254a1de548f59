{{ config(materialized="table", clustered_by="id") }}
select 1 as id
