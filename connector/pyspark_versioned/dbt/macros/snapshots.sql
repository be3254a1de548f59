{# dbt's own snapshot with temporary views; dbt-spark's leaves columns of composite keys in the table. #}

{% macro spark__snapshot_merge_sql(target, source, insert_cols) %}
  {%- if versioned.is_versioned() -%}
    {{ dbt.default__snapshot_merge_sql(target, source, insert_cols) }}
  {%- else -%}
    {{ dbt.spark__snapshot_merge_sql(target, source, insert_cols) }}
  {%- endif -%}
{% endmacro %}


{% macro spark__post_snapshot(staging_relation) %}
  {% do run_query('drop view if exists ' ~ staging_relation) %}
{% endmacro %}


{# Models of dbt-spark have no database, and dbt's macro passes it on. #}
{% macro spark__get_or_create_relation(database, schema, identifier, type) %}
  {% do return(dbt.default__get_or_create_relation(none, schema, identifier, type)) %}
{% endmacro %}
