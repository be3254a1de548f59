{% snapshot by_time %}
{{ config(unique_key="id", strategy="timestamp", updated_at="updated_at", hard_deletes="invalidate") }}
select * from (
{% if var("day") == 1 %}
values (1, 'a', timestamp '2026-01-01 00:00:00'), (2, 'b', timestamp '2026-01-01 00:00:00')
{% elif var("day") == 2 %}
values (1, 'aa', timestamp '2026-01-02 00:00:00'), (2, 'b', timestamp '2026-01-01 00:00:00'), (3, 'c', timestamp '2026-01-02 00:00:00')
{% else %}
values (1, 'aa', timestamp '2026-01-02 00:00:00'), (3, 'cc', timestamp '2026-01-03 00:00:00')
{% endif %}
as t(id, name, updated_at))
{% endsnapshot %}
