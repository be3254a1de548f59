{# SHOW TABLE EXTENDED shows no views of catalogs, and SHOW TABLES does not say which ones are views. #}

{% macro spark__list_relations_without_caching(relation) %}
  {% set relations = [] %}
  {% set tables = [] %}
  {% for row in run_query('show table extended in ' ~ relation ~ " like '*'").rows if not row[2] %}
    {% do tables.append(row[1]) %}
    {% do relations.append((row[0], row[1], row[2], row[3])) %}
  {% endfor %}
  {% for row in run_query('show tables in ' ~ relation).rows if not row[2] and row[1] not in tables %}
    {% do relations.append((row[0], row[1], row[2], 'Type: VIEW')) %}
  {% endfor %}
  {% do return(relations) %}
{% endmacro %}


{# dbt-spark returns the rows of DESCRIBE, and dbt's macros for snapshots read columns from it. #}
{% macro spark__get_columns_in_relation(relation) %}
  {% do return(adapter.get_columns_in_relation(relation)) %}
{% endmacro %}


{# A section of DESCRIBE EXTENDED, such as '# Constraints': values by lower-case name. #}
{% macro described(relation, section) %}
  {% set values = {} %}
  {% set current = namespace(section='') %}
  {% for row in run_query('describe extended ' ~ relation).rows %}
    {% if row[0] == '' or row[0].startswith('#') %}
      {% set current.section = row[0] %}
    {% elif current.section == section %}
      {% do values.update({row[0] | lower: row[1]}) %}
    {% endif %}
  {% endfor %}
  {{ return(values) }}
{% endmacro %}
