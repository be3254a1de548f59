package versioned.spark.catalog;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * A column, a field of a struct, the element of an array, or the key or value of a map.
 *
 * @param above the names of the fields around it, as declared
 */
public record NestedField(List<String> above, StructField field) {
    /** The field at a path, by case-insensitive names. */
    public static Optional<NestedField> find(StructType schema, List<String> path) {
        List<String> above = new ArrayList<>();
        DataType type = schema;
        StructField found = null;
        for (String name : path) {
            Optional<StructField> next = inside(type).filter(one -> one.name().equalsIgnoreCase(name)).findFirst();
            if (next.isEmpty()) {
                return Optional.empty();
            }
            if (found != null) {
                above.add(found.name());
            }
            found = next.get();
            type = found.dataType();
        }
        return Optional.ofNullable(found).map(field -> new NestedField(above, field));
    }

    private static Stream<StructField> inside(DataType type) {
        if (type instanceof StructType struct) {
            return Stream.of(struct.fields());
        }
        if (type instanceof ArrayType array) {
            return Stream.of(new StructType().add("element", array.elementType(), array.containsNull()).fields());
        }
        return type instanceof MapType map
            ? Stream.of(new StructType().add("key", map.keyType(), false)
                .add("value", map.valueType(), map.valueContainsNull()).fields())
            : Stream.empty();
    }
}
