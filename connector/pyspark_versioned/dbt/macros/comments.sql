{# persist_docs: comments of tables and columns, in one ALTER for all columns of a table. #}

{% macro spark__comment_clause() %}
  {%- if config.persist_relation_docs() and model.description -%}
    comment {{ versioned.string_literal(model.description) }}
  {%- endif -%}
{% endmacro %}


{% macro spark__persist_docs(relation, model, for_relation, for_columns) %}
  {% if not versioned.is_versioned() %}
    {% do dbt.spark__persist_docs(relation, model, for_relation, for_columns) %}
  {% elif not relation.is_view %}
    {% if for_relation and config.persist_relation_docs() and model.description
          and versioned.described(relation, '# Detailed Table Information').get('comment') != model.description %}
      {% do run_query('comment on table ' ~ relation ~ ' is ' ~ versioned.string_literal(model.description)) %}
    {% endif %}
    {% if for_columns and config.persist_column_docs() and model.columns %}
      {% do versioned.comment_on_columns(relation, model.columns) %}
    {% endif %}
  {% endif %}
{% endmacro %}


{% macro comment_on_columns(relation, documented) %}
  {% set existing = adapter.get_columns_in_relation(relation) | map(attribute='name') | map('lower') | list %}
  {% set comments = [] %}
  {% for name, column in documented.items() if column.description %}
    {% if name | lower in existing %}
      {% do comments.append(adapter.quote(name) ~ ' comment ' ~ versioned.string_literal(column.description)) %}
    {% else %}
      {% do exceptions.warn(relation ~ ": the column " ~ name ~ " has a description, but the table has no such column") %}
    {% endif %}
  {% endfor %}
  {% if comments %}
    {% do run_query('alter table ' ~ relation ~ ' alter column ' ~ comments | join(', ')) %}
  {% endif %}
{% endmacro %}
