{# Contracts: CHECK and NOT NULL are checked while the rows are written, and belong to the table afterwards. #}

{% macro spark__persist_constraints(relation, model) %}
  {% if not versioned.is_versioned() %}
    {% do dbt.spark__persist_constraints(relation, model) %}
  {% elif versioned.is_contract_enforced() %}
    {% do versioned.warn_of_unenforced(relation, model) %}
    {% do versioned.add_checks(relation, versioned.checks(relation, model)) %}
    {% set altered = [] %}
    {% for column in versioned.not_null_columns(model) %}
      {% do altered.append(column ~ ' set not null') %}
    {% endfor %}
    {% if altered %}
      {% do run_query('alter table ' ~ relation ~ ' alter column ' ~ altered | join(', ')) %}
    {% endif %}
  {% endif %}
{% endmacro %}


{# Those of the model, each with its columns; a constraint of a column has that one. #}
{% macro all_constraints(model) %}
  {% set constraints = [] %}
  {% for constraint in model.constraints or [] %}
    {% do constraints.append({'constraint': constraint, 'columns': constraint.columns or []}) %}
  {% endfor %}
  {% for column in model.columns.values() %}
    {% for constraint in column.constraints or [] %}
      {% do constraints.append({'constraint': constraint, 'columns': [column.name]}) %}
    {% endfor %}
  {% endfor %}
  {{ return(constraints) }}
{% endmacro %}


{% macro checks(relation, model) %}
  {% set checks = [] %}
  {% for stated in versioned.all_constraints(model) if stated.constraint.type == 'check' %}
    {% set expression = (stated.constraint.expression or '') | trim %}
    {% if not expression %}
      {% do exceptions.raise_compiler_error(relation ~ ": a constraint of the type check needs an expression") %}
    {% endif %}
    {% set name = stated.constraint.name or 'dbt_' ~ local_md5(expression) %}
    {% do checks.append({'name': name, 'expression': expression}) %}
  {% endfor %}
  {{ return(checks) }}
{% endmacro %}


{% macro not_null_columns(model) %}
  {% set columns = [] %}
  {% for stated in versioned.all_constraints(model) if stated.constraint.type == 'not_null' %}
    {% for column in stated.columns if adapter.quote(column) not in columns %}
      {% do columns.append(adapter.quote(column)) %}
    {% endfor %}
  {% endfor %}
  {{ return(columns) }}
{% endmacro %}


{# The SELECT fails at the first row that violates the contract. #}
{% macro rows_within_contract(relation, select_sql) %}
  {%- set checks = versioned.checks(relation, model) -%}
  {%- set columns = versioned.not_null_columns(model) -%}
  {%- if not checks and not columns -%}
    {{ return(select_sql) }}
  {%- endif -%}
  select * from (
    {{ select_sql }}
  ) as dbt_contract_rows
  where case
    {%- for column in columns %}
    when {{ column }} is null
      then raise_error({{ versioned.string_literal(relation ~ ': the contract has NOT NULL for ' ~ column ~ ', which is NULL in a row') }})
    {%- endfor %}
    {%- for check in checks %}
    when ({{ check.expression }}) is false
      then raise_error({{ versioned.string_literal(relation ~ ': a row violates CHECK (' ~ check.expression ~ '), the constraint ' ~ check.name) }})
    {%- endfor %}
    else true
  end
{% endmacro %}


{# Incremental models have their constraints since their first build. Spark shows a constraint in other
   words than the contract, so a property of the table says which contract its constraints are of. #}
{% macro add_checks(relation, checks) %}
  {% set property = versioned.checks_property(checks) %}
  {% set stored = run_query('show tblproperties ' ~ relation).rows | selectattr(0, 'equalto', 'dbt.checks') | list %}
  {% set is_changed = (stored[0][1] if stored else '') != property %}
  {% set wanted = checks | map(attribute='name') | map('lower') | list %}
  {% set current = [] %}
  {% for name in versioned.described(relation, '# Constraints') if checks or stored %}
    {% if is_changed and (name in wanted or name.startswith('dbt_')) %}
      {% do run_query('alter table ' ~ relation ~ ' drop constraint ' ~ adapter.quote(name)) %}
    {% else %}
      {% do current.append(name) %}
    {% endif %}
  {% endfor %}
  {% for check in checks if check.name | lower not in current %}
    {% do run_query(
      'alter table ' ~ relation ~ ' add constraint ' ~ adapter.quote(check.name) ~ ' check (' ~ check.expression ~ ')'
    ) %}
  {% endfor %}
  {% if is_changed %}
    {% do run_query('alter table ' ~ relation ~ " set tblproperties ('dbt.checks' = '" ~ property ~ "')") %}
  {% endif %}
{% endmacro %}


{% macro checks_property(checks) %}
  {{ return(local_md5(checks | string) if checks else '') }}
{% endmacro %}


{% macro warn_of_unenforced(relation, model) %}
  {% for stated in versioned.all_constraints(model) if stated.constraint.type not in ['check', 'not_null'] %}
    {% set constraint = stated.constraint %}
    {% if constraint.type == 'custom' %}
      {% do exceptions.raise_compiler_error(
        relation ~ ": constraints of the type custom are not supported; use check or not_null, or a post-hook"
      ) %}
    {% elif constraint.warn_unenforced != false and constraint.warn_unsupported != false %}
      {% do exceptions.warn(
        relation ~ ": the constraint " ~ constraint.type ~ " is not enforced; use a data test. Set warn_unenforced to false to hide this"
      ) %}
    {% endif %}
  {% endfor %}
{% endmacro %}
