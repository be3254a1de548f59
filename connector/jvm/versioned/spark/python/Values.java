package versioned.spark.python;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.math.BigDecimal;
import java.util.Base64;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimeType;
import org.apache.spark.sql.types.VariantType;
import org.apache.spark.sql.types.YearMonthIntervalType;
import org.apache.spark.unsafe.types.UTF8String;
import versioned.spark.protocol.TypedValue;

/** Spark's values as value texts (FORMAT.md), and back. */
public final class Values {
    /** The format counts microseconds of a day, and Spark nanoseconds. */
    public static final int NANOS_OF_MICRO = 1000;

    private static final int MOST_DIGITS = 6; // of a second

    private Values() {}

    /** Whether a value of a type has a text: that of a TIME has microseconds. */
    public static boolean hasText(DataType type) {
        return !(type instanceof StructType || type instanceof ArrayType || type instanceof MapType
            || type instanceof VariantType || type instanceof TimeType time && time.precision() > MOST_DIGITS);
    }

    /**
     * A value with its type.
     *
     * @param value in the form of Spark's rows: days, microseconds, UTF8String, Decimal, ...
     */
    public static TypedValue typed(Object value, DataType type) {
        return new TypedValue(type, nested(value, type));
    }

    /** A value as one text: that of a nested value is JSON, as {@link #typed} has it; null stays null. */
    public static String argument(Object value, DataType type) {
        return value == null ? null : hasText(type) ? text(value, type) : nested(value, type).toString();
    }

    /** A value: a text, a list of a struct's fields or an array's elements, a map's keys and values as two lists. */
    private static JsonNode nested(Object value, DataType type) {
        if (value instanceof InternalRow row && type instanceof StructType struct) {
            ArrayNode json = JsonNodeFactory.instance.arrayNode();
            for (int i = 0; i < struct.length(); i++) {
                json.add(nested(row.isNullAt(i) ? null : row.get(i, struct.apply(i).dataType()), struct.apply(i).dataType()));
            }
            return json;
        }
        if (value instanceof ArrayData items && type instanceof ArrayType array) {
            return items(items, array.elementType());
        }
        if (value instanceof MapData entries && type instanceof MapType map) {
            return JsonNodeFactory.instance.arrayNode().add(items(entries.keyArray(), map.keyType()))
                .add(items(entries.valueArray(), map.valueType()));
        }
        return value == null ? NullNode.getInstance() : TextNode.valueOf(text(value, type));
    }

    private static ArrayNode items(ArrayData items, DataType type) {
        ArrayNode json = JsonNodeFactory.instance.arrayNode();
        for (int i = 0; i < items.numElements(); i++) {
            json.add(nested(items.isNullAt(i) ? null : items.get(i, type), type));
        }
        return json;
    }

    /** A value text in the form of Spark's rows; null stays null. */
    public static Object parse(String text, DataType type) {
        if (text == null) {
            return null;
        }
        return switch (type instanceof StringType ? "string" : type.typeName().replaceAll("\\(.*", "")) {
            case "boolean" -> Boolean.valueOf(text);
            case "byte" -> Byte.valueOf(text);
            case "short" -> Short.valueOf(text);
            case "integer", "date" -> Integer.valueOf(text);
            case "long", "timestamp", "timestamp_ntz" -> Long.valueOf(text);
            case "float" -> Float.valueOf(text);
            case "double" -> Double.valueOf(text);
            case "decimal" -> Decimal.apply(new BigDecimal(text), ((DecimalType) type).precision(),
                ((DecimalType) type).scale());
            case "string", "char", "varchar" -> UTF8String.fromString(text);
            case "time" -> Math.multiplyExact(Long.parseLong(text), NANOS_OF_MICRO);
            case "binary" -> Base64.getDecoder().decode(text);
            default -> interval(text, type);
        };
    }

    private static Object interval(String text, DataType type) {
        if (type instanceof YearMonthIntervalType) {
            return Integer.valueOf(text);
        }
        if (type instanceof DayTimeIntervalType) {
            return Long.valueOf(text);
        }
        throw new IllegalArgumentException("no value of " + type.sql() + " has a text");
    }

    /** The value text of a value in the form of Spark's rows; null stays null. */
    public static String text(Object value, DataType type) {
        if (value == null) {
            return null;
        }
        if (type instanceof BinaryType) {
            return Base64.getEncoder().encodeToString((byte[]) value);
        }
        if (type instanceof TimeType) {
            return Long.toString((Long) value / NANOS_OF_MICRO);
        }
        if (value instanceof Decimal decimal) {
            return decimal.toJavaBigDecimal().toPlainString();
        }
        return value.toString();
    }
}
