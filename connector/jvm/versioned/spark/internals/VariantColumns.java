package versioned.spark.internals;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.LogicalTypeAnnotation.ListLogicalTypeAnnotation;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.Type;
import org.apache.spark.sql.catalyst.expressions.variant.ArrayExtraction;
import org.apache.spark.sql.catalyst.expressions.variant.ObjectExtraction;
import org.apache.spark.sql.catalyst.expressions.variant.VariantPathSegment;
import org.apache.spark.sql.execution.datasources.VariantMetadata;
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The columns of a file that the asked fields of shredded variants need; Spark reads all of a variant.
 *
 * <p>A field that is shredded stands in its own {@code value} and {@code typed_value}, and never in the {@code value} of the
 * object around it (Parquet's Variant Shredding). So the latter is read only for fields that are not shredded.
 */
final class VariantColumns {
    private static final String METADATA = "metadata";
    private static final String VALUE = "value";
    private static final String TYPED = "typed_value";

    private VariantColumns() {}

    /** The columns of a file that are read, without those that no asked field of a variant needs. */
    static MessageType clipped(MessageType file, StructType columns) {
        return VariantFields.isAnyAsked(columns) ? new MessageType(file.getName(), clipped((GroupType) file, columns)) : file;
    }

    private static List<Type> clipped(GroupType group, StructType columns) {
        List<Type> types = new ArrayList<>(group.getFields());
        for (StructField column : columns.fields()) {
            if (VariantFields.isAnyAsked(column.dataType())) {
                types.replaceAll(type -> isOf(type, column) ? clipped(type.asGroupType(), column.dataType()) : type);
            }
        }
        return types;
    }

    private static boolean isOf(Type type, StructField column) {
        return ParquetUtils.hasFieldId(column) ? type.getId() != null && type.getId().intValue() == ParquetUtils.getFieldId(column)
            : type.getName().equals(column.name());
    }

    private static Type clipped(GroupType group, DataType type) {
        StructType struct = (StructType) type;
        return VariantFields.isAsked(struct) ? clipped(group, paths(struct), 0) : group.withNewFields(clipped(group, struct));
    }

    private static List<VariantPathSegment[]> paths(StructType asked) {
        return Stream.of(asked.fields()).map(field -> VariantMetadata.fromMetadata(field.metadata()))
            .filter(field -> field.castErrorFor().isEmpty()).map(VariantMetadata::parsedPath).toList();
    }

    /**
     * The columns of a variant, or of a shredded part of one, that some paths need.
     *
     * @param depth number of segments of the paths that lead to the group
     */
    private static Type clipped(GroupType group, List<VariantPathSegment[]> paths, int depth) {
        if (!group.containsField(TYPED) || paths.stream().anyMatch(path -> path.length == depth)) {
            return group;
        }
        Map<String, List<VariantPathSegment[]>> inside = new TreeMap<>();
        boolean isInValue = false;
        Type typed = group.getType(TYPED);
        for (VariantPathSegment[] path : paths) {
            String part = part(typed, path[depth]);
            isInValue |= part == null;
            if (part != null) {
                inside.computeIfAbsent(part, key -> new ArrayList<>()).add(path);
            }
        }
        if (isInValue && !group.containsField(VALUE)) {
            return group;
        }
        List<Type> kept = new ArrayList<>();
        for (Type type : group.getFields()) {
            boolean isKept = switch (type.getName()) {
                case METADATA -> true;
                case VALUE -> isInValue;
                default -> !inside.isEmpty();
            };
            if (isKept) {
                kept.add(type.getName().equals(TYPED) ? clippedTyped(type.asGroupType(), inside, depth + 1) : type);
            }
        }
        return group.withNewFields(kept);
    }

    /** The name of the part of a {@code typed_value} that a segment of a path leads to; null if there is none. */
    private static String part(Type typed, VariantPathSegment segment) {
        if (typed.isPrimitive()) {
            return null;
        }
        GroupType group = typed.asGroupType();
        if (isList(group)) {
            return segment instanceof ArrayExtraction ? "" : null;
        }
        return segment instanceof ObjectExtraction field && group.containsField(field.key()) ? field.key() : null;
    }

    private static boolean isList(GroupType typed) {
        return typed.getLogicalTypeAnnotation() instanceof ListLogicalTypeAnnotation;
    }

    private static Type clippedTyped(GroupType typed, Map<String, List<VariantPathSegment[]>> inside, int depth) {
        if (isList(typed)) {
            GroupType repeated = typed.getType(0).asGroupType();
            Type element = clipped(repeated.getType(0).asGroupType(), inside.get(""), depth);
            return typed.withNewFields(repeated.withNewFields(element));
        }
        return typed.withNewFields(typed.getFields().stream().filter(field -> inside.containsKey(field.getName()))
            .map(field -> clipped(field.asGroupType(), inside.get(field.getName()), depth)).toList());
    }
}
