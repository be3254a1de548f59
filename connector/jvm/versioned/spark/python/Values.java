package versioned.spark.python;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.math.BigDecimal;
import java.util.Base64;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimeType;
import org.apache.spark.sql.types.VariantType;
import org.apache.spark.unsafe.types.UTF8String;

/** Types and single values of Spark's as JSON; values as text, in the form that the format gives them. */
public final class Values {
    private Values() {}

    /** A type as JSON: {@code "integer"}, {@code {"type": "struct", ...}}. */
    public static JsonNode type(DataType type) {
        try {
            return Python.JSON.readTree(type.json());
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A type from its JSON. */
    public static DataType type(JsonNode json) {
        return DataType.fromJson(json.toString());
    }

    /** Whether values of a type can be told to Python one by one. */
    public static boolean hasText(DataType type) {
        return !(type instanceof StructType || type instanceof ArrayType || type instanceof MapType
            || type instanceof VariantType);
    }

    /** See {@link #json(Object, DataType)}. */
    public static ObjectNode json(Literal<?> literal) {
        return json(literal.value(), literal.dataType());
    }

    /**
     * A value with its type.
     *
     * @param value what Spark holds inside: days, microseconds, UTF8String, Decimal, ...
     */
    public static ObjectNode json(Object value, DataType type) {
        ObjectNode json = Python.JSON.createObjectNode();
        json.set("type", type(type));
        json.set("value", nested(value, type));
        return json;
    }

    /** Value texts of nested values: a list of a struct's fields or an array's elements, a map's keys and values as two. */
    private static JsonNode nested(Object value, DataType type) {
        if (value instanceof InternalRow row && type instanceof StructType struct) {
            ArrayNode json = Python.JSON.createArrayNode();
            for (int i = 0; i < struct.length(); i++) {
                json.add(nested(row.isNullAt(i) ? null : row.get(i, struct.apply(i).dataType()), struct.apply(i).dataType()));
            }
            return json;
        }
        if (value instanceof ArrayData items && type instanceof ArrayType array) {
            return items(items, array.elementType());
        }
        if (value instanceof MapData entries && type instanceof MapType map) {
            return Python.JSON.createArrayNode().add(items(entries.keyArray(), map.keyType()))
                .add(items(entries.valueArray(), map.valueType()));
        }
        return value == null ? NullNode.getInstance() : TextNode.valueOf(text(value, type));
    }

    private static ArrayNode items(ArrayData items, DataType type) {
        ArrayNode json = Python.JSON.createArrayNode();
        for (int i = 0; i < items.numElements(); i++) {
            json.add(nested(items.isNullAt(i) ? null : items.get(i, type), type));
        }
        return json;
    }

    /**
     * What Spark holds inside for a value text.
     *
     * @param text as in {@link #json(Object, DataType)}; null is null
     */
    public static Object parse(String text, DataType type) {
        if (text == null) {
            return null;
        }
        return switch (type.typeName().replaceAll("\\(.*", "")) {
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
            case "binary" -> Base64.getDecoder().decode(text);
            default -> throw new IllegalArgumentException("no value of " + type.sql() + " is told as text");
        };
    }

    /** The value text of what Spark holds inside; null stays null. */
    public static String text(Object value, DataType type) {
        if (value == null) {
            return null;
        }
        if (type instanceof BinaryType) {
            return Base64.getEncoder().encodeToString((byte[]) value);
        }
        if (type instanceof TimeType) {
            return Long.toString((Long) value / 1000); // Spark counts nanoseconds
        }
        if (value instanceof Decimal decimal) {
            return decimal.toJavaBigDecimal().toPlainString();
        }
        return value.toString();
    }
}
