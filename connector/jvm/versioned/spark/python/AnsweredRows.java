package versioned.spark.python;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.stream.StreamSupport;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * Rows that Python has told, with no file to read.
 *
 * @param description for EXPLAIN
 * @param readSchema their columns
 * @param rows the rows
 */
public record AnsweredRows(String description, StructType readSchema, InternalRow[] rows) implements LocalScan {

    /**
     * The rows of an answer.
     *
     * @param rows arrays of cells: null, a value text, or an array of value texts
     */
    public static AnsweredRows parse(String description, StructType schema, JsonNode rows) {
        return new AnsweredRows(description, schema, StreamSupport.stream(rows.spliterator(), false)
            .map(row -> row(row, schema)).toArray(InternalRow[]::new));
    }

    private static InternalRow row(JsonNode cells, StructType schema) {
        Object[] values = new Object[schema.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = cell(cells.get(i), schema.fields()[i].dataType());
        }
        return new GenericInternalRow(values);
    }

    private static Object cell(JsonNode cell, DataType type) {
        if (cell.isNull() || !(type instanceof ArrayType array)) {
            return Values.parse(cell.textValue(), type);
        }
        return new GenericArrayData(StreamSupport.stream(cell.spliterator(), false)
            .map(one -> Values.parse(one.textValue(), array.elementType())).toArray());
    }
}
