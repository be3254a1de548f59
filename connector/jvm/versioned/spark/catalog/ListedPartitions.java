package versioned.spark.catalog;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.SupportsPartitionManagement;
import org.apache.spark.sql.types.StructType;
import versioned.spark.protocol.*;
import versioned.spark.python.Condition;
import versioned.spark.python.Python;
import versioned.spark.python.Values;

/** SHOW PARTITIONS. Partitions exist as long as they have rows, so they can't be created or dropped. */
interface ListedPartitions extends SupportsPartitionManagement {
    /** Which table this is. */
    TableRef ref();

    private Partitions partitions() {
        return Python.send(new ListPartitions(ref()));
    }

    @Override
    default StructType partitionSchema() {
        return schemaOf(partitions());
    }

    private static StructType schemaOf(Partitions partitions) {
        StructType schema = new StructType();
        for (PartitionColumn field : partitions.fields()) {
            schema = schema.add(field.name(), field.type());
        }
        return schema;
    }

    @Override
    default InternalRow[] listPartitionIdentifiers(String[] names, InternalRow ident) {
        Partitions partitions = partitions();
        StructType schema = schemaOf(partitions);
        List<InternalRow> rows = new ArrayList<>();
        for (List<String> row : partitions.rows()) {
            Object[] values = new Object[schema.size()];
            for (int i = 0; i < values.length; i++) {
                values[i] = Values.parse(row.get(i), schema.fields()[i].dataType());
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
        return Condition.NOT_SUPPORTED.error(ref().name() + ": a partition can't be created, dropped or "
            + "changed, since it exists as long as it has rows; write rows, or INSERT OVERWRITE ... PARTITION");
    }
}
