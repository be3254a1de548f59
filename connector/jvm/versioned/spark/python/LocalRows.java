package versioned.spark.python;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.stream.StreamSupport;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;

/** Rows that are in a response, so that no file has to be read; the description is for EXPLAIN. */
public record LocalRows(String description, StructType readSchema, InternalRow[] rows) implements LocalScan {

    /** The rows of a response: each cell is null, a value text, a list of these, or a map's keys and values as two lists. */
    public static LocalRows parse(String description, StructType schema, List<List<JsonNode>> rows) {
        return new LocalRows(description, schema,
            rows.stream().map(row -> row(row, schema)).toArray(InternalRow[]::new));
    }

    /** The rows of a response that has them by column, as value texts. */
    public static LocalRows ofColumns(String description, StructType schema, List<List<String>> columns) {
        InternalRow[] rows = new InternalRow[columns.get(0).size()];
        for (int at = 0; at < rows.length; at++) {
            Object[] values = new Object[columns.size()];
            for (int i = 0; i < values.length; i++) {
                values[i] = Values.parse(columns.get(i).get(at), schema.fields()[i].dataType());
            }
            rows[at] = new GenericInternalRow(values);
        }
        return new LocalRows(description, schema, rows);
    }

    private static InternalRow row(List<JsonNode> cells, StructType schema) {
        Object[] values = new Object[schema.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = cell(cells.get(i), schema.fields()[i].dataType());
        }
        return new GenericInternalRow(values);
    }

    private static Object cell(JsonNode cell, DataType type) {
        if (!cell.isNull() && type instanceof ArrayType array) {
            return items(cell, array.elementType());
        }
        if (!cell.isNull() && type instanceof MapType map) {
            return new ArrayBasedMapData(items(cell.get(0), map.keyType()), items(cell.get(1), map.valueType()));
        }
        return Values.parse(cell.textValue(), type);
    }

    private static ArrayData items(JsonNode cells, DataType type) {
        return new GenericArrayData(StreamSupport.stream(cells.spliterator(), false).map(one -> cell(one, type)).toArray());
    }
}
