package versioned.spark.write;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import versioned.spark.internals.SparkProjections;
import versioned.spark.protocol.GivenColumn;
import versioned.spark.protocol.StoredRows;
import versioned.spark.python.Condition;

/**
 * How changes become rows for Python: the stored columns and the operation.
 *
 * @param table its name
 * @param seen the table's columns as the statement sees them
 * @param written the columns of the rows for Python
 * @param key indexes of the row key in {@code seen}, in the key's order
 * @param given for each seen column, its index in Spark's rows, which may have metadata columns in addition
 * @param projection of Spark's rows to the stored columns; null if these are the seen ones
 * @param tombstone the projection of a key to a tombstone
 */
record DeltaLayout(String table, StructType seen, StructType written, int[] key, int[] given,
        StoredProjection projection, List<Expression> tombstone) implements Serializable {
    private static final byte PUT = 0;
    private static final byte DELETE = 1;

    /**
     * @param carried the metadata columns that come with an updated row
     * @param given the columns of Spark's rows; none for a DELETE
     * @param rows the stored columns; null if they are those of the schema
     */
    static DeltaLayout of(String table, StructType schema, StructType carried, List<String> rowKey, StructType given,
            StoredRows rows) {
        StructType seen = CharVarcharUtils.replaceCharVarcharWithStringInSchema(schema);
        StructType stored = rows == null ? seen : CharVarcharUtils.replaceCharVarcharWithStringInSchema(rows.schema());
        StructType written = new StructType();
        for (StructField field : stored.fields()) {
            written = written.add(field.name(), field.dataType(), true); // a tombstone holds its key only
        }
        int[] key = rowKey.stream().mapToInt(schema::fieldIndex).toArray();
        int[] places = new int[given.isEmpty() ? 0 : schema.size()];
        for (int i = 0; i < places.length; i++) {
            places[i] = given.fieldIndex(schema.fields()[i].name());
        }
        StoredProjection projection = places.length == 0 ? null
            : StoredProjection.of(rows, seen, places, given.size(), carried);
        return new DeltaLayout(table, seen, written.add(freeName(stored), DataTypes.ByteType, false), key, places, projection,
            tombstone(seen, stored, key, rows));
    }

    /** A name for the operation that no column has. Python takes the last column, whatever its name. */
    private static String freeName(StructType schema) {
        String name = "__op_type";
        while (Stream.of(schema.fieldNames()).anyMatch(name::equalsIgnoreCase)) {
            name += "_";
        }
        return name;
    }

    /** The values of a tombstone: the key in the stored types, null in all other columns, and the operation. */
    private static List<Expression> tombstone(StructType seen, StructType stored, int[] key, StoredRows rows) {
        List<Expression> values = new ArrayList<>();
        for (int i = 0; i < stored.size(); i++) {
            DataType type = stored.fields()[i].dataType();
            int place = -1;
            for (int part = 0; part < key.length; part++) {
                place = key[part] == seenIndex(i, rows) ? part : place;
            }
            values.add(place < 0 ? SparkProjections.constant(null, type) : SparkProjections.widened(
                SparkProjections.column(place, seen.fields()[key[place]].dataType()), type));
        }
        values.add(SparkProjections.constant(DELETE, DataTypes.ByteType));
        return new ArrayList<>(values);
    }

    /** The index of a stored column among the seen ones, or -1. */
    private static int seenIndex(int stored, StoredRows rows) {
        return rows == null ? stored : rows.sources().get(stored) instanceof GivenColumn given ? given.index() : -1;
    }

    /** The changes of one task; a row that it returns is valid until the next one. */
    Task task() {
        return new Task();
    }

    /** Rows for Python, from the changes of one task. */
    final class Task {
        private final StoredProjection.Task stored = projection == null ? null : projection.task();
        private final UnaryOperator<InternalRow> tombstones = SparkProjections.compile(tombstone);
        private final InternalRow put = new GenericInternalRow(new Object[] {PUT});
        private final JoinedRow joined = new JoinedRow();

        private Task() {}

        /** A new row for a key. */
        InternalRow insert(InternalRow row) {
            return stored == null ? copied(row) : joined.apply(stored.insert(row), put);
        }

        /** A row for a key that had one, whose old values come with it. */
        InternalRow update(InternalRow old, InternalRow row) {
            return stored == null ? copied(row) : joined.apply(stored.replace(old, row), put);
        }

        private InternalRow copied(InternalRow row) {
            Object[] values = new Object[written.size()];
            for (int i = 0; i < given.length; i++) {
                values[i] = row.get(given[i], type(i));
            }
            values[given.length] = PUT;
            return new GenericInternalRow(values);
        }

        /** The deletion of the row of a key. */
        InternalRow delete(InternalRow id) {
            return tombstones.apply(id);
        }
    }

    private DataType type(int column) {
        return seen.fields()[column].dataType();
    }

    /** Refuses an UPDATE of a key, which would leave the old row beside the new one. */
    void checkKey(InternalRow id, InternalRow row) {
        for (int i = 0; i < key.length; i++) {
            int column = key[i];
            if (!Objects.deepEquals(id.get(i, type(column)), row.get(given[column], type(column)))) {
                throw Condition.KEY_NOT_UPDATABLE.error(table + ": UPDATE can't change a row key, and "
                    + seen.fields()[column].name() + " is part of it; DELETE the row and INSERT the new one");
            }
        }
    }
}
