package versioned.spark.internals;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.variant.VariantPathParser;
import org.apache.spark.sql.catalyst.expressions.variant.VariantPathSegment;
import org.apache.spark.sql.connector.read.VariantExtraction;
import org.apache.spark.sql.execution.datasources.VariantMetadata;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.types.VariantType;
import scala.Option;

/**
 * Fields of variants that Spark has a scan extract. It asks for them by a "variant struct" in place of the variant, which has a
 * field for each path and type.
 */
public final class VariantFields {
    private static final String DEFERS = "spark.sql.variant.pushVariantIntoScan.deferCastError";

    private VariantFields() {}

    /**
     * Which extractions a scan carries out: all of a top-level column, or none. A variant that is also used whole is read whole.
     * A strict cast that fails does so when the row is read, also if its value is never used, unless Spark defers the error.
     */
    public static boolean[] accepted(VariantExtraction[] extractions) {
        boolean isOffered = isOffered();
        Set<String> refused = new HashSet<>();
        for (VariantExtraction extraction : extractions) {
            if (!isOffered || !isAccepted(extraction)) {
                refused.add(extraction.columnName()[0]);
            }
        }
        boolean[] accepted = new boolean[extractions.length];
        for (int i = 0; i < accepted.length; i++) {
            accepted[i] = !refused.contains(extractions[i].columnName()[0]);
        }
        return accepted;
    }

    /** Whether this Spark prunes the columns of a scan that extracts, which 4.2 does not, and reads batches. */
    private static boolean isOffered() {
        SQLConf conf = SQLConf.get();
        return SQLConf$.MODULE$.containsConfigKey(DEFERS) && conf.parquetVectorizedReaderEnabled()
            && conf.parquetVectorizedReaderNestedColumnEnabled()
            && (boolean) conf.getConf(SQLConf$.MODULE$.VARIANT_ALLOW_READING_SHREDDED());
    }

    private static boolean isAccepted(VariantExtraction extraction) {
        VariantMetadata asked = VariantMetadata.fromMetadata(extraction.metadata());
        if (asked.castErrorFor().isDefined()) {
            return true; // it takes what another one can't cast
        }
        Option<VariantPathSegment[]> path = VariantPathParser.parse(asked.path());
        return path.isDefined() && path.get().length > 0 && isSupported(extraction.expectedDataType())
            && (!asked.failOnError() || neverFails(extraction.expectedDataType())
                || Boolean.parseBoolean(SQLConf.get().getConfString(DEFERS, "false")));
    }

    private static boolean neverFails(DataType type) {
        return type instanceof StringType || type instanceof VariantType;
    }

    private static boolean isSupported(DataType type) {
        if (type instanceof StructType struct) {
            return struct.size() > 0 && Stream.of(struct.fields()).allMatch(field -> isSupported(field.dataType()));
        }
        if (type instanceof ArrayType array) {
            return isSupported(array.elementType());
        }
        if (type instanceof MapType map) {
            return map.keyType().equals(DataTypes.StringType) && isSupported(map.valueType());
        }
        return type.equals(DataTypes.StringType) || type instanceof NumericType || type instanceof BooleanType
            || type instanceof BinaryType || type instanceof DateType || type instanceof TimestampType || type instanceof TimestampNTZType
            || type instanceof VariantType;
    }

    /** Whether Spark asks for fields of a variant by this type. */
    static boolean isAsked(DataType type) {
        return VariantMetadata.isVariantStruct(type);
    }

    /** Whether fields are extracted from a column of this type, or from one inside it. */
    public static boolean isAnyAsked(DataType type) {
        return isAsked(type) || type instanceof StructType struct
            && Stream.of(struct.fields()).anyMatch(field -> isAnyAsked(field.dataType()));
    }

    /**
     * Columns with the variant structs that Spark expects for extractions; it does not say them. Their fields are named by their
     * places.
     */
    public static StructType extracted(StructType columns, List<VariantExtraction> extractions) {
        return extractions.isEmpty() ? columns : extracted(columns, extractions, 0);
    }

    private static StructType extracted(StructType struct, List<VariantExtraction> extractions, int depth) {
        return mapped(struct, (field, at) -> {
            List<VariantExtraction> inside = extractions.stream()
                .filter(extraction -> extraction.columnName()[depth].equals(field.name())).toList();
            return inside.isEmpty() ? field.dataType() : field.dataType() instanceof StructType inner
                ? extracted(inner, inside, depth + 1) : variantStruct(inside);
        });
    }

    private static StructType variantStruct(List<VariantExtraction> extractions) {
        StructType asked = new StructType();
        for (VariantExtraction extraction : extractions) {
            asked = asked.add(String.valueOf(asked.size()), extraction.expectedDataType(), true, extraction.metadata());
        }
        return asked;
    }

    /** The columns as they are stored: with variants in place of their fields. */
    public static StructType whole(StructType asked) {
        return isAnyAsked(asked) ? (StructType) whole((DataType) asked) : asked;
    }

    private static DataType whole(DataType type) {
        return isAsked(type) ? DataTypes.VariantType
            : type instanceof StructType struct ? mapped(struct, (field, at) -> whole(field.dataType())) : type;
    }

    /** A type with the fields that are extracted in place of its variants; the fields of structs stand in one order in both. */
    public static DataType asked(DataType whole, DataType asked) {
        if (!isAnyAsked(asked)) {
            return whole;
        }
        return isAsked(asked) ? asked
            : mapped((StructType) whole, (field, at) -> asked(field.dataType(), ((StructType) asked).fields()[at].dataType()));
    }

    /** A column with the fields that are extracted in place of its variants. */
    public static StructField asked(StructField whole, StructField asked) {
        return new StructField(whole.name(), asked(whole.dataType(), asked.dataType()), whole.nullable(), whole.metadata());
    }

    private static StructType mapped(StructType struct, BiFunction<StructField, Integer, DataType> type) {
        StructField[] fields = struct.fields().clone();
        for (int i = 0; i < fields.length; i++) {
            fields[i] = new StructField(fields[i].name(), type.apply(fields[i], i), fields[i].nullable(), fields[i].metadata());
        }
        return new StructType(fields);
    }

    /** The paths and types that are extracted, for people. */
    public static String text(StructType asked) {
        StringBuilder text = new StringBuilder();
        append(text, "", asked);
        return text.toString();
    }

    private static void append(StringBuilder text, String above, StructType struct) {
        for (StructField field : struct.fields()) {
            String name = above + field.name();
            if (isAsked(field.dataType())) {
                for (StructField part : ((StructType) field.dataType()).fields()) {
                    VariantMetadata asked = VariantMetadata.fromMetadata(part.metadata());
                    if (asked.castErrorFor().isEmpty()) {
                        text.append(text.isEmpty() ? "" : ", ").append(name).append(' ').append(asked.path()).append(" AS ")
                            .append(part.dataType().sql());
                    }
                }
            } else if (field.dataType() instanceof StructType inner) {
                append(text, name + ".", inner);
            }
        }
    }
}
