{# dbt-spark knows a closed list of formats, and merges only into those of its own. #}

{% macro dbt_spark_validate_get_file_format(raw_file_format) %}
  {% do return(raw_file_format) %}
{% endmacro %}

{% macro dbt_spark_validate_get_incremental_strategy(raw_strategy, file_format) %}
  {% do return(raw_strategy) %}
{% endmacro %}
