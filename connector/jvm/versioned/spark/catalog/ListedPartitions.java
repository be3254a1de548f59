package versioned.spark.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.SupportsPartitionManagement;
import org.apache.spark.sql.types.StructType;
import versioned.spark.python.Python;
import versioned.spark.python.Values;
import versioned.spark.python.Condition;

/** SHOW PARTITIONS. Partitions come and go with the rows in them, so nothing else can be done to them. */
interface ListedPartitions extends SupportsPartitionManagement {
    /** Which table this is. */
    TableRef ref();

    private JsonNode partitions() {
        return Python.ask("partitions", ref().request());
    }

    @Override
    default StructType partitionSchema() {
        return schemaOf(partitions());
    }

    private static StructType schemaOf(JsonNode partitions) {
        StructType schema = new StructType();
        for (JsonNode field : partitions.get("fields")) {
            schema = schema.add(field.get("name").asText(), Values.type(field.get("type")));
        }
        return schema;
    }

    @Override
    default InternalRow[] listPartitionIdentifiers(String[] names, InternalRow ident) {
        JsonNode partitions = partitions();
        StructType schema = schemaOf(partitions);
        List<InternalRow> rows = new ArrayList<>();
        for (JsonNode row : partitions.get("rows")) {
            Object[] values = new Object[schema.size()];
            for (int i = 0; i < values.length; i++) {
                values[i] = Values.parse(row.get(i).textValue(), schema.fields()[i].dataType());
            }
            if (matches(values, schema, names, ident)) {
                rows.add(new GenericInternalRow(values));
            }
        }
        return rows.toArray(InternalRow[]::new);
    }

    private static boolean matches(Object[] values, StructType schema, String[] names, InternalRow ident) {
        List<String> all = Arrays.asList(schema.fieldNames());
        for (int i = 0; i < names.length; i++) {
            int place = all.indexOf(names[i]);
            if (!Objects.equals(values[place], ident.get(i, schema.fields()[place].dataType()))) {
                return false;
            }
        }
        return true;
    }

    @Override
    default Map<String, String> loadPartitionMetadata(InternalRow ident) {
        return Map.of();
    }

    @Override
    default void createPartition(InternalRow ident, Map<String, String> properties) {
        throw refused();
    }

    @Override
    default boolean dropPartition(InternalRow ident) {
        throw refused();
    }

    @Override
    default void replacePartitionMetadata(InternalRow ident, Map<String, String> properties) {
        throw refused();
    }

    private RuntimeException refused() {
        return Condition.NOT_SUPPORTED.error(ref().name() + ": partitions come and go with the rows in them; write "
            + "rows, or overwrite them with INSERT OVERWRITE ... PARTITION");
    }
}
