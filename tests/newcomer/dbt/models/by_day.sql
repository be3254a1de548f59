{{ config(materialized="incremental", incremental_strategy="microbatch", event_time="at", batch_size="day", begin="2026-01-01", partition_by="days(at)") }}
select id, at, {{ var("day") }} as day from {{ ref("events") }}
