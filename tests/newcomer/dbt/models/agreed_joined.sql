{{ config(materialized="table") }}
select colors.id, colors.weight from {{ ref("colors") }} colors join {{ ref("events") }} events on colors.id = events.id
