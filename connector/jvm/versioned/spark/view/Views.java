package versioned.spark.view;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.StreamSupport;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableSummary;
import org.apache.spark.sql.connector.catalog.View;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.catalog.CatalogQuestions;
import versioned.spark.python.Python;
import versioned.spark.python.Condition;

/** Views between Spark's class and JSON. */
public final class Views {
    /**
     * A setting that is there while Spark resolves the query of a view of ours: the view and what it is bound to, as Python
     * told it. Spark takes a view's settings for its query alone, and says nowhere else exactly which view it is at.
     */
    private static final String WITHIN = "spark.versioned.within";

    private Views() {}

    /** The view of an answer to {@code load_relation}, if it is one. */
    public static Optional<View> parse(JsonNode answer, String catalog) {
        return answer.has("view") ? Optional.of(parseOne(answer.get("view"), catalog)) : Optional.empty();
    }

    private static View parseOne(JsonNode json, String catalog) {
        View.Builder builder = new View.Builder()
            .withQueryText(json.get("sql").asText())
            .withCurrentCatalog(json.hasNonNull("catalog") ? json.get("catalog").asText() : catalog)
            .withCurrentNamespace(CatalogQuestions.parts(json.get("namespace")))
            .withSqlConfigs(settings(json))
            .withSchemaMode(json.get("schema_mode").asText())
            .withQueryColumnNames(CatalogQuestions.parts(json.get("query_columns")));
        builder.withColumns(columns(json.get("columns")));
        builder.withProperties(CatalogQuestions.texts(json.get("properties")));
        if (json.hasNonNull("comment")) {
            builder.withComment(json.get("comment").asText());
        }
        return builder.build();
    }

    private static Map<String, String> settings(JsonNode json) {
        Map<String, String> settings = new TreeMap<>(CatalogQuestions.texts(json.get("settings")));
        settings.put(WITHIN, json.get("within").toString());
        return settings;
    }

    /** The view of ours whose query Spark resolves now, and what it is bound to, as JSON; null in no view. */
    public static String within() {
        return SQLConf.get().getConfString(WITHIN, null);
    }

    /** The same of a view in a plan; null if it is none of ours. */
    static String within(org.apache.spark.sql.catalyst.plans.logical.View view) {
        return CollectionConverters.asJava(view.desc().viewSQLConfigs()).get(WITHIN);
    }

    private static Column[] columns(JsonNode columns) {
        return StreamSupport.stream(columns.spliterator(), false)
            .map(one -> Column.create(one.get("name").asText(), DataType.fromDDL(one.get("type").asText()),
                one.get("nullable").asBoolean(), one.path("comment").asText(null), null))
            .toArray(Column[]::new);
    }

    /** Whether Spark copied a view that it loaded, to change its properties, its schema mode or the types it shows. */
    static boolean isCopy(View view) {
        return view.sqlConfigs().containsKey(WITHIN);
    }

    /** A view with what its query reads. */
    static ObjectNode json(View view, QueryReads reads) {
        ObjectNode json = json(view);
        json.set("reads", reads.tables());
        json.set("reads_views", reads.views());
        return json;
    }

    /** A view without what its query reads. */
    static ObjectNode json(View view) {
        if (TableSummary.METRIC_VIEW_TABLE_TYPE.equals(view.properties().get(TableCatalog.PROP_TABLE_TYPE))) {
            throw Condition.NOT_SUPPORTED.error("metric views can't be kept in a versioned catalog; create a view "
                + "of a query, or the metric view in the session catalog");
        }
        ObjectNode json = Python.JSON.createObjectNode().put("sql", view.queryText());
        ArrayNode columns = json.putArray("columns");
        for (Column column : view.columns()) {
            columns.addObject().put("name", column.name()).put("type", column.dataType().sql())
                .put("nullable", column.nullable()).put("comment", column.comment());
        }
        Map<String, String> properties = new TreeMap<>(view.properties());
        properties.remove(TableCatalog.PROP_TABLE_TYPE);
        json.put("comment", properties.remove(TableCatalog.PROP_COMMENT));
        json.put("catalog", view.currentCatalog()).put("schema_mode", view.schemaMode());
        json.set("namespace", Python.JSON.valueToTree(view.currentNamespace()));
        json.set("query_columns", Python.JSON.valueToTree(view.queryColumnNames()));
        json.set("properties", Python.JSON.valueToTree(properties));
        Map<String, String> settings = new TreeMap<>(view.sqlConfigs());
        settings.remove(WITHIN);
        json.set("settings", Python.JSON.valueToTree(settings));
        return json;
    }
}
