{# How tables are created: CREATE OR REPLACE keeps the versions of a table, and fails as a whole. #}

{% macro is_versioned() %}
  {{ return((config.get('file_format') or 'versioned') | lower == 'versioned') }}
{% endmacro %}


{% macro is_contract_enforced() %}
  {% set contract = config.get('contract') %}
  {{ return(contract is not none and contract.enforced) }}
{% endmacro %}


{% macro refuse_unsupported() %}
  {% if model['language'] == 'python' %}
    {% do exceptions.raise_compiler_error(
      this ~ ": dbt-spark runs Python models on Databricks only; write the model in SQL, or a job with PySpark"
    ) %}
  {% endif %}
  {% if config.get('clustered_by') and not config.get('buckets') %}
    {% do exceptions.raise_compiler_error(
      this ~ ": clustered_by needs a number of buckets; to sort rows, set the property sort_by in tblproperties"
    ) %}
  {% endif %}
  {% do apply_grants(this, config.get('grants'), should_revoke=false) %}
{% endmacro %}


{% macro spark__apply_grants(relation, grant_config, should_revoke=True) %}
  {% if grant_config and versioned.is_versioned() %}
    {% do exceptions.raise_compiler_error(
      relation ~ ": a versioned catalog has no grants; remove the config grants, and give access to the folder instead"
    ) %}
  {% elif grant_config %}
    {% do dbt.default__apply_grants(relation, grant_config, should_revoke) %}
  {% endif %}
{% endmacro %}


{% macro create_or_replace(old_relation, target_relation) %}
  {% set build_sql = create_table_as(False, target_relation, sql) %}
  {% if old_relation is not none and old_relation.is_view %}
    {% do adapter.drop_relation(old_relation) %}
  {% endif %}
  {% call statement('main') %}
    {{ build_sql }}
  {% endcall %}
  {% do persist_constraints(target_relation, model) %}
{% endmacro %}


{% macro spark__create_table_as(temporary, relation, compiled_code, language='sql') %}
  {%- if temporary or language != 'sql' or not versioned.is_versioned() -%}
    {{ dbt.spark__create_table_as(temporary, relation, compiled_code, language) }}
  {%- else -%}
    {%- set rows = compiled_code -%}
    {%- if versioned.is_contract_enforced() -%}
      {{ get_assert_columns_equivalent(compiled_code) }}
      {%- set rows = versioned.rows_within_contract(relation, get_select_subquery(compiled_code)) -%}
    {%- endif -%}
    {{ versioned.create_clauses(relation) }}
    as
    {{ rows }}
  {%- endif -%}
{% endmacro %}


{% macro create_clauses(relation, columns='') %}
    create or replace table {{ relation }} {{ columns }}
    using versioned
    {{ options_clause() }}
    {{ tblproperties_clause() }}
    {{ partition_cols(label="partitioned by") }}
    {{ clustered_cols(label="clustered by") }}
    {{ location_clause() }}
    {{ comment_clause() }}
{% endmacro %}


{% macro string_literal(text) %}
  {{- return("'" ~ (text | string | replace('\\', '\\\\') | replace("'", "\\'")) ~ "'") -}}
{% endmacro %}


{% macro spark__tblproperties_clause() %}
  {%- set properties = dict(config.get('tblproperties') or {}) -%}
  {%- if versioned.is_versioned() and versioned.is_contract_enforced() and versioned.checks(this, model) -%}
    {%- do properties.update({'dbt.checks': versioned.checks_property(versioned.checks(this, model))}) -%}
  {%- endif -%}
  {%- if properties -%}
    tblproperties (
      {%- for name, value in properties.items() -%}
        {{ versioned.string_literal(name) }} = {{ versioned.string_literal(value) }}{{ ', ' if not loop.last }}
      {%- endfor -%}
    )
  {%- endif -%}
{% endmacro %}


{# A temporary view has no schema, and threads share a session: the schema is in its name. #}
{% macro spark__make_temp_relation(base_relation, suffix) %}
  {% set identifier = (base_relation.schema ~ '__' if base_relation.schema else '') ~ base_relation.identifier ~ suffix %}
  {% set temporary = base_relation.incorporate(path={"identifier": identifier}, type='view') %}
  {% do return(temporary.include(database=false, schema=false)) %}
{% endmacro %}


{% macro spark__create_or_replace_clone(this_relation, defer_relation) %}
    create or replace table {{ this_relation }} shallow clone {{ defer_relation }}
{% endmacro %}
