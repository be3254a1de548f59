package versioned.spark.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.stream.StreamSupport;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.ColumnDefaultValue;
import org.apache.spark.sql.connector.catalog.IdentityColumnSpec;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.expressions.LiteralValue;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import versioned.spark.internals.SparkDefaults;
import versioned.spark.python.Python;
import versioned.spark.python.Values;

/** Columns between Spark's classes and JSON. */
final class Columns {
    // What older rows show is Python's business; Spark only has to believe that there is something.
    private static final LiteralValue<Object> NO_EXISTING = new LiteralValue<>(null, DataTypes.NullType);

    // A row that is written anew has no place yet.
    private static final String NOT_KEPT = "{\"__preserve_on_update\":false,\"__preserve_on_reinsert\":false}";

    private Columns() {}

    static Column[] parse(JsonNode columns) {
        return StreamSupport.stream(columns.spliterator(), false).map(Columns::parseOne).toArray(Column[]::new);
    }

    private static Column parseOne(JsonNode json) {
        ColumnDefaultValue value = json.has("default")
            ? new ColumnDefaultValue(json.get("default").asText(), NO_EXISTING) : null;
        return new Known(json.get("id").asText(), json.get("name").asText(), Values.type(json.get("type")),
            json.get("nullable").asBoolean(), json.path("comment").asText(null), value);
    }

    static MetadataColumn[] parseMetadata(JsonNode columns) {
        return StreamSupport.stream(columns.spliterator(), false)
            .map(json -> (MetadataColumn) new Implicit(json.get("name").asText(), Values.type(json.get("type")),
                json.path("comment").asText(null)))
            .toArray(MetadataColumn[]::new);
    }

    static ArrayNode json(Column[] columns) {
        ArrayNode json = Python.JSON.createArrayNode();
        for (Column column : columns) {
            ObjectNode one = json.addObject();
            one.put("name", column.name()).put("nullable", column.nullable()).put("comment", column.comment());
            one.set("type", Values.type(column.dataType()));
            if (column.defaultValue() != null) {
                one.set("default", defaultOf(column.name(), column.dataType(), column.defaultValue().getSql()));
            }
        }
        return json;
    }

    /**
     * A default as it was written, what it is worth now, and whether it will be worth the same at all times.
     *
     * @param column the column, for Spark's errors
     * @param type the column's; null where it is not known, and the value is left out
     */
    static ObjectNode defaultOf(String column, DataType type, String sql) {
        ObjectNode json = Python.JSON.createObjectNode().put("sql", sql);
        SparkDefaults parsed = SparkDefaults.of(sql);
        json.set("changing", Python.JSON.valueToTree(parsed.changing()));
        json.put("one_function", parsed.isOneFunction());
        if (type != null && parsed.changing().isEmpty()) {
            json.set("literal", Values.json(SparkDefaults.value(column, type, sql), type));
        }
        return json;
    }

    /** A column with its ID; {@code id()} is asked for by Spark from 4.3 on. */
    private record Known(String id, String name, DataType dataType, boolean nullable, String comment,
            ColumnDefaultValue defaultValue) implements Column {
        @Override
        public IdentityColumnSpec identityColumnSpec() {
            return null;
        }

        @Override
        public String metadataInJSON() {
            return null;
        }
    }

    private record Implicit(String name, DataType dataType, String comment) implements MetadataColumn {
        @Override
        public boolean isNullable() {
            return false;
        }

        @Override
        public String metadataInJSON() {
            return NOT_KEPT;
        }
    }
}
