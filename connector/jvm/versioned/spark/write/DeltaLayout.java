package versioned.spark.write;

import java.io.Serializable;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import versioned.spark.python.Condition;

/**
 * How changes become rows for Python: the table's columns and the operation.
 *
 * @param table its name
 * @param written the columns of these rows
 * @param key indexes of the row key in {@code written}, in the key's order
 * @param given for each column of the table, its index in Spark's rows, which may have metadata columns in addition
 */
record DeltaLayout(String table, StructType written, int[] key, int[] given) implements Serializable {
    private static final byte PUT = 0;
    private static final byte DELETE = 1;

    /** @param given the columns of Spark's rows; none for a DELETE */
    static DeltaLayout of(String table, StructType schema, List<String> rowKey, StructType given) {
        StructType written = new StructType();
        for (StructField field : CharVarcharUtils.replaceCharVarcharWithStringInSchema(schema).fields()) {
            written = written.add(field.name(), field.dataType(), true); // a tombstone holds its key only
        }
        int[] key = rowKey.stream().mapToInt(schema::fieldIndex).toArray();
        int[] places = new int[given.isEmpty() ? 0 : schema.size()];
        for (int i = 0; i < places.length; i++) {
            places[i] = given.fieldIndex(schema.fields()[i].name());
        }
        return new DeltaLayout(table, written.add(freeName(schema), DataTypes.ByteType, false), key, places);
    }

    /** A name for the operation that no column has. Python takes the last column, whatever its name. */
    private static String freeName(StructType schema) {
        String name = "__op_type";
        while (Stream.of(schema.fieldNames()).anyMatch(name::equalsIgnoreCase)) {
            name += "_";
        }
        return name;
    }

    private DataType type(int column) {
        return written.fields()[column].dataType();
    }

    /** The new row for a key. */
    InternalRow put(InternalRow row) {
        Object[] values = new Object[written.size()];
        for (int i = 0; i < given.length; i++) {
            values[i] = row.get(given[i], type(i));
        }
        values[given.length] = PUT;
        return new GenericInternalRow(values);
    }

    /** The deletion of the row of a key. */
    InternalRow tombstone(InternalRow id) {
        Object[] values = new Object[written.size()];
        for (int i = 0; i < key.length; i++) {
            values[key[i]] = id.get(i, type(key[i]));
        }
        values[values.length - 1] = DELETE;
        return new GenericInternalRow(values);
    }

    /** Refuses an UPDATE of a key, which would leave the old row beside the new one. */
    void checkKey(InternalRow id, InternalRow row) {
        for (int i = 0; i < key.length; i++) {
            int column = key[i];
            if (!Objects.deepEquals(id.get(i, type(column)), row.get(given[column], type(column)))) {
                throw Condition.KEY_NOT_UPDATABLE.error(table + ": UPDATE can't change a row key, and "
                    + written.fields()[column].name() + " is part of it; DELETE the row and INSERT the new one");
            }
        }
    }
}
