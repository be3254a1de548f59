package versioned.spark.write;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import versioned.spark.function.Transform;
import versioned.spark.protocol.PartitionSource;
import versioned.spark.python.Values;

/** The partition of a row, as value texts. */
final class PartitionKey {
    private record Source(int[] ordinals, StructType[] structs, DataType type, Transform transform) {}

    private final List<Source> sources = new ArrayList<>();
    private Object[] last;
    private List<String> texts;

    PartitionKey(List<PartitionSource> parts, StructType schema) {
        for (PartitionSource part : parts) {
            StructType[] structs = new StructType[part.ordinals().length];
            DataType type = schema;
            for (int i = 0; i < structs.length; i++) {
                structs[i] = (StructType) type;
                StructField field = structs[i].fields()[part.ordinals()[i]];
                type = field.dataType();
            }
            sources.add(new Source(part.ordinals(), structs, type, Transform.of(part.transform(), part.size() == null ? 0 : part.size(), type)));
        }
    }

    List<String> of(InternalRow row) {
        if (sources.isEmpty()) {
            return List.of();
        }
        Object[] values = new Object[sources.size()];
        for (int i = 0; i < values.length; i++) {
            Object value = find(row, sources.get(i));
            values[i] = value == null ? null : sources.get(i).transform().apply(value);
        }
        if (!java.util.Arrays.deepEquals(values, last)) { // neighbours are often of one partition
            last = values;
            texts = render(values);
        }
        return texts;
    }

    private List<String> render(Object[] values) {
        List<String> rendered = new ArrayList<>(values.length);
        for (int i = 0; i < values.length; i++) {
            rendered.add(Values.text(values[i], sources.get(i).transform().result()));
        }
        return rendered;
    }

    private static Object find(InternalRow row, Source source) {
        InternalRow at = row;
        int last = source.ordinals().length - 1;
        for (int i = 0; i < last; i++) {
            int ordinal = source.ordinals()[i];
            if (at.isNullAt(ordinal)) {
                return null;
            }
            at = at.getStruct(ordinal, ((StructType) source.structs()[i].fields()[ordinal].dataType()).size());
        }
        int ordinal = source.ordinals()[last];
        return at.isNullAt(ordinal) ? null : copied(at.get(ordinal, source.type()));
    }

    /** Rows are used again, and with them the memory that their texts point into. */
    private static Object copied(Object value) {
        return value instanceof org.apache.spark.unsafe.types.UTF8String text ? text.copy() : value;
    }
}
