{# Seeds: the first batch of rows creates or replaces the table, so readers never see an empty one. #}

{% macro spark__reset_csv_table(model, full_refresh, old_relation, agate_table) %}
  {% if versioned.is_versioned() %}
    {{ return(create_csv_table(model, agate_table)) }}
  {% endif %}
  {{ return(dbt.spark__reset_csv_table(model, full_refresh, old_relation, agate_table)) }}
{% endmacro %}


{% macro spark__create_csv_table(model, agate_table) %}
  {% if not versioned.is_versioned() %}
    {{ return(dbt.spark__create_csv_table(model, agate_table)) }}
  {% endif %}
  {% set columns = [] %}
  {% for name, type in versioned.seed_columns(model, agate_table) %}
    {% do columns.append(name ~ ' ' ~ type) %}
  {% endfor %}
  {% set sql = versioned.create_clauses(this, '(' ~ columns | join(', ') ~ ')') %}
  {% if agate_table.rows | length == 0 %}
    {% do run_query(sql) %}
  {% endif %}
  {{ return(sql) }}
{% endmacro %}


{% macro spark__load_csv_rows(model, agate_table) %}
  {% if not versioned.is_versioned() %}
    {{ return(dbt.spark__load_csv_rows(model, agate_table)) }}
  {% endif %}
  {% set columns = versioned.seed_columns(model, agate_table) %}
  {% set names = columns | map('first') | join(', ') %}
  {% set statements = [] %}
  {% for chunk in agate_table.rows | batch(get_batch_size()) %}
    {% set values %}
      values
      {%- for row in chunk %}
        ({%- for value in row -%}
          {{ versioned.seed_literal(value, columns[loop.index0][1]) }}{{ ', ' if not loop.last }}
        {%- endfor -%}){{ ',' if not loop.last }}
      {%- endfor %}
    {% endset %}
    {% if loop.first %}
      {% set sql = versioned.create_clauses(this) ~ ' as select * from ' ~ values ~ ' as seed(' ~ names ~ ')' %}
    {% else %}
      {% set sql = 'insert into ' ~ this ~ ' (' ~ names ~ ') ' ~ values %}
    {% endif %}
    {% do adapter.add_query(sql, abridge_sql_log=True) %}
    {% do statements.append(sql) %}
  {% endfor %}
  {{ return(statements[0]) }}
{% endmacro %}


{% macro seed_columns(model, agate_table) %}
  {% set types = model['config'].get('column_types', {}) %}
  {% set quoting = model['config'].get('quote_columns', none) %}
  {% set columns = [] %}
  {% for name in agate_table.column_names %}
    {% set type = types.get(name, adapter.convert_type(agate_table, loop.index0)) %}
    {% do columns.append((adapter.quote_seed_column(name | string, quoting), type)) %}
  {% endfor %}
  {{ return(columns) }}
{% endmacro %}


{# dbt-spark's bindings write NULL as the text None, numbers as doubles, and quotes as they are. #}
{% macro seed_literal(value, type) %}
  {%- if value is none -%}
    {{ return('cast(null as ' ~ type ~ ')') }}
  {%- elif value is boolean or value is integer or value is not number -%}
    {{ return('cast(' ~ versioned.string_literal(value) ~ ' as ' ~ type ~ ')') }}
  {%- else -%}
    {{ return("cast('" ~ '{:f}'.format(value) ~ "' as " ~ type ~ ')') }}
  {%- endif -%}
{% endmacro %}
