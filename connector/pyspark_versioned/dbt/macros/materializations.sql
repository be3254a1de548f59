{# The materializations that dbt-spark keeps for its own list of formats. Other formats go to dbt-spark. #}

{% materialization table, adapter='spark', supported_languages=['sql', 'python'] %}
  {% if not versioned.is_versioned() %}
    {{ return(dbt.materialization_table_spark()) }}
  {% endif %}
  {% do versioned.refuse_unsupported() %}
  {% set old_relation = load_cached_relation(this) %}
  {% set target_relation = this.incorporate(type='table') %}

  {{ run_hooks(pre_hooks) }}

  {% do versioned.create_or_replace(old_relation, target_relation) %}
  {% do persist_docs(target_relation, model) %}

  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{% materialization incremental, adapter='spark', supported_languages=['sql', 'python'] %}
  {% if not versioned.is_versioned() %}
    {{ return(dbt.materialization_incremental_spark()) }}
  {% endif %}
  {% do versioned.refuse_unsupported() %}
  {% set strategy = versioned.incremental_strategy() %}
  {% set on_schema_change = incremental_validate_on_schema_change(config.get('on_schema_change'), default='ignore') %}
  {% set existing_relation = load_cached_relation(this) %}
  {% set target_relation = this.incorporate(type='table') %}

  {{ run_hooks(pre_hooks) }}

  {% if existing_relation is none or existing_relation.is_view or should_full_refresh() %}
    {% do versioned.create_or_replace(existing_relation, target_relation) %}
  {% else %}
    {% if versioned.is_contract_enforced() %}
      {% do get_assert_columns_equivalent(sql) %}
    {% endif %}
    {% set batch = make_temp_relation(target_relation) %}
    {% call statement('create_batch') %}
      {{ create_temporary_view(batch, sql) }}
    {% endcall %}
    {% set columns = process_schema_changes(on_schema_change, batch, existing_relation) %}
    {% if not columns %}
      {% set columns = adapter.get_columns_in_relation(existing_relation) %}
    {% endif %}
    {% do persist_constraints(target_relation, model) %}
    {% if strategy == 'insert_overwrite' and config.get('partition_by') %}
      {# It stays: threads share a session, and a reset by one would let another replace a whole table. #}
      {% do run_query('set spark.sql.sources.partitionOverwriteMode = DYNAMIC') %}
    {% endif %}
    {% call statement('main') %}
      {{ versioned.incremental_sql(strategy, batch, target_relation, columns) }}
    {% endcall %}
  {% endif %}
  {% do persist_docs(target_relation, model) %}

  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{% materialization snapshot, adapter='spark' %}
  {% if not versioned.is_versioned() %}
    {{ return(dbt.materialization_snapshot_spark()) }}
  {% endif %}
  {% do versioned.refuse_unsupported() %}
  {{ return(dbt.materialization_snapshot_default()) }}
{% endmaterialization %}


{% materialization clone, adapter='spark' %}
  {% if not versioned.is_versioned() %}
    {{ return(dbt.materialization_clone_spark()) }}
  {% endif %}
  {{ return(dbt.materialization_clone_default()) }}
{% endmaterialization %}
