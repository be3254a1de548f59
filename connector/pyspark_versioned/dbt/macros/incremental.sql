{# Incremental models: columns are written by name, and changes of the schema are ALTER statements. #}

{% macro incremental_strategy() %}
  {% set strategy = config.get('incremental_strategy') or 'append' %}
  {% set supported = ['append', 'merge', 'insert_overwrite', 'microbatch'] %}
  {% if strategy not in supported %}
    {% do exceptions.raise_compiler_error(
      this ~ ": there is no incremental strategy " ~ strategy ~ "; use one of " ~ supported | join(', ')
    ) %}
  {% endif %}
  {{ return(strategy) }}
{% endmacro %}


{% macro incremental_sql(strategy, source, target, columns) %}
  {%- set names = columns | map(attribute='quoted') | join(', ') -%}
  {%- if strategy == 'merge' -%}
    {%- set predicates = config.get('predicates', none) or config.get('incremental_predicates', none) -%}
    {{ get_merge_sql(target, source, config.get('unique_key'), columns, predicates) }}
  {%- elif strategy == 'insert_overwrite' -%}
    insert overwrite {{ target }} ({{ names }}) select {{ names }} from {{ source }}
  {%- elif strategy == 'microbatch' -%}
    insert into {{ target }} ({{ names }})
    replace where {{ versioned.batch_condition(columns) }}
    select {{ names }} from {{ source }}
  {%- else -%}
    insert into {{ target }} ({{ names }}) select {{ names }} from {{ source }}
  {%- endif -%}
{% endmacro %}


{# REPLACE WHERE compares columns with constants: the bounds have the column's type. #}
{% macro batch_condition(columns) %}
  {%- set event_time = config.get('event_time') -%}
  {%- set matching = columns | selectattr('name', 'equalto', event_time) | list -%}
  {%- if not matching or not model.batch -%}
    {% do exceptions.raise_compiler_error(
      this ~ ": microbatch needs event_time, the name of a column of the model, and not " ~ event_time
    ) %}
  {%- endif -%}
  {%- set column = matching[0] -%}
  {{ column.quoted }} >= cast(timestamp '{{ model.batch.event_time_start }}' as {{ column.data_type }})
  and {{ column.quoted }} < cast(timestamp '{{ model.batch.event_time_end }}' as {{ column.data_type }})
{% endmacro %}


{% macro spark__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) %}
  {%- if not versioned.is_versioned() -%}
    {{ return(dbt.spark__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates)) }}
  {%- endif -%}
  {%- set predicates = [] + (incremental_predicates or []) -%}
  {%- set keys = [unique_key] if unique_key is string else (unique_key or []) -%}
  {%- for key in keys -%}
    {%- do predicates.append('DBT_INTERNAL_SOURCE.' ~ key ~ ' = DBT_INTERNAL_DEST.' ~ key) -%}
  {%- endfor -%}
  {%- if not keys -%}
    {%- do predicates.append('false') -%}
  {%- endif -%}
  {%- set names = dest_columns | map(attribute='quoted') | list -%}
  {%- set updated = get_merge_update_columns(
    config.get('merge_update_columns'), config.get('merge_exclude_columns'), dest_columns
  ) or names -%}

  merge into {{ target }} as DBT_INTERNAL_DEST
  using {{ source }} as DBT_INTERNAL_SOURCE
  on {{ predicates | join(' and ') }}
  when matched then update set
    {%- for name in updated %}
    {{ name }} = DBT_INTERNAL_SOURCE.{{ name }}{{ ',' if not loop.last }}
    {%- endfor %}
  when not matched then insert ({{ names | join(', ') }})
    values (
    {%- for name in names %}DBT_INTERNAL_SOURCE.{{ name }}{{ ', ' if not loop.last }}{% endfor -%}
    )
{% endmacro %}


{# Added first: a column whose name changes in case only is refused then, and not dropped with its values. #}
{% macro spark__alter_relation_add_remove_columns(relation, add_columns, remove_columns) %}
  {% if not versioned.is_versioned() %}
    {{ return(dbt.spark__alter_relation_add_remove_columns(relation, add_columns, remove_columns)) }}
  {% endif %}
  {% if add_columns %}
    {% set added = [] %}
    {% for column in add_columns %}
      {% do added.append(column.quoted ~ ' ' ~ column.data_type) %}
    {% endfor %}
    {% do run_query('alter table ' ~ relation ~ ' add columns (' ~ added | join(', ') ~ ')') %}
  {% endif %}
  {% if remove_columns %}
    {% set removed = remove_columns | map(attribute='quoted') | join(', ') %}
    {% do run_query('alter table ' ~ relation ~ ' drop columns (' ~ removed ~ ')') %}
  {% endif %}
{% endmacro %}


{% macro spark__alter_column_type(relation, column_name, new_column_type) %}
  {% do run_query(
    'alter table ' ~ relation ~ ' alter column ' ~ adapter.quote(column_name) ~ ' type ' ~ new_column_type
  ) %}
{% endmacro %}
