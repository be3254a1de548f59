{# dbt-spark asks SHOW TABLE EXTENDED only, which shows no views of catalogs. #}

{% macro spark__list_relations_without_caching(relation) %}
  {% set found = [] %}
  {% for row in run_query("show table extended in " ~ relation ~ " like '*'").rows %}
    {% do found.append((row[0], row[1], row[2], row[3])) %}
  {% endfor %}
  {% for row in run_query("show views in " ~ relation).rows %}
    {% do found.append((row[0], row[1], row[2], "Type: VIEW")) %}
  {% endfor %}
  {% do return(found) %}
{% endmacro %}
