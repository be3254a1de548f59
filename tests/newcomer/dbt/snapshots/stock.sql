{% snapshot by_check %}
{{ config(unique_key=["id", "kind"], strategy="check", check_cols=["name"], hard_deletes="new_record") }}
select * from (
{% if var("day") == 1 %}
values (1, 'k', 'a'), (2, 'k', 'b')
{% elif var("day") == 2 %}
values (1, 'k', 'aa'), (2, 'k', 'b'), (3, 'k', 'c')
{% else %}
values (1, 'k', 'aa'), (3, 'k', null)
{% endif %}
as t(id, kind, name))
{% endsnapshot %}
