package versioned.spark.scan;

import org.apache.spark.sql.catalyst.types.PhysicalArrayType;
import org.apache.spark.sql.catalyst.types.PhysicalBinaryType;
import org.apache.spark.sql.catalyst.types.PhysicalBooleanType;
import org.apache.spark.sql.catalyst.types.PhysicalByteType;
import org.apache.spark.sql.catalyst.types.PhysicalDataType;
import org.apache.spark.sql.catalyst.types.PhysicalDecimalType;
import org.apache.spark.sql.catalyst.types.PhysicalDoubleType;
import org.apache.spark.sql.catalyst.types.PhysicalFloatType;
import org.apache.spark.sql.catalyst.types.PhysicalIntegerType;
import org.apache.spark.sql.catalyst.types.PhysicalLongType;
import org.apache.spark.sql.catalyst.types.PhysicalMapType;
import org.apache.spark.sql.catalyst.types.PhysicalShortType;
import org.apache.spark.sql.catalyst.types.PhysicalStringType;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.VariantType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * The rows of a batch that are shown, moved to its start. They stay in the vectors of Spark's reader, which fills them anew for
 * each batch: a vector that finds its rows in another one costs two virtual calls a value.
 */
final class ShownRows {
    private final int[] kept;
    private int first; // the first row that moves
    private int end;

    /** @param rows the most rows of a batch */
    ShownRows(int rows) {
        kept = new int[rows];
    }

    /** The indexes of rows that are shown, ascending, as {@link MarkedRows#keep} finds them. */
    int[] indexes() {
        return kept;
    }

    /** Moves the rows of a batch. */
    void move(ColumnarBatch batch, int count) {
        end = count;
        first = 0;
        while (first < end && kept[first] == first) {
            first++;
        }
        for (int i = 0; i < batch.numCols(); i++) {
            move(batch.column(i));
        }
        batch.setNumRows(count);
    }

    private void move(ColumnVector column) {
        if (first == end || !(column instanceof WritableColumnVector vector)) { // others are constant
            return;
        }
        if (vector.hasNull()) {
            moveNulls(vector);
        }
        if (vector.hasDictionary()) {
            moveInts(vector.getDictionaryIds());
        } else {
            moveValues(vector);
        }
    }

    private void moveNulls(WritableColumnVector vector) {
        for (int i = first; i < end; i++) {
            if (vector.isNullAt(kept[i])) {
                vector.putNull(i);
            } else {
                vector.putNotNull(i);
            }
        }
    }

    private void moveValues(WritableColumnVector vector) {
        PhysicalDataType type = PhysicalDataType.apply(vector.dataType());
        if (type instanceof PhysicalDecimalType decimal && decimal.precision() <= Decimal.MAX_INT_DIGITS()
                || type instanceof PhysicalIntegerType) {
            moveInts(vector);
        } else if (type instanceof PhysicalDecimalType decimal && decimal.precision() <= Decimal.MAX_LONG_DIGITS()
                || type instanceof PhysicalLongType) {
            moveLongs(vector);
        } else if (type instanceof PhysicalDoubleType) {
            moveDoubles(vector);
        } else if (isInArray(type)) {
            moveArrays(vector);
        } else {
            moveRare(vector, type);
        }
    }

    /** Whether values are places in a vector of bytes or elements, which may stay where it is. */
    private static boolean isInArray(PhysicalDataType type) {
        return type instanceof PhysicalStringType || type instanceof PhysicalBinaryType || type instanceof PhysicalDecimalType
            || type instanceof PhysicalArrayType || type instanceof PhysicalMapType;
    }

    private void moveRare(WritableColumnVector vector, PhysicalDataType type) {
        if (type instanceof PhysicalFloatType) {
            moveEach((i, row) -> vector.putFloat(i, vector.getFloat(row)));
        } else if (type instanceof PhysicalBooleanType) {
            moveEach((i, row) -> vector.putBoolean(i, vector.getBoolean(row)));
        } else if (type instanceof PhysicalByteType) {
            moveEach((i, row) -> vector.putByte(i, vector.getByte(row)));
        } else if (type instanceof PhysicalShortType) {
            moveEach((i, row) -> vector.putShort(i, vector.getShort(row)));
        } else if (vector.dataType() instanceof StructType || vector.dataType() instanceof VariantType) {
            moveFields(vector);
        } else {
            throw new IllegalStateException("rows of " + vector.dataType() + " can't be moved");
        }
    }

    private void moveFields(WritableColumnVector vector) {
        for (int i = 0; i < vector.getNumChildren(); i++) {
            move(vector.getChild(i));
        }
    }

    private void moveArrays(WritableColumnVector vector) {
        for (int i = first; i < end; i++) {
            vector.putArray(i, vector.getArrayOffset(kept[i]), vector.getArrayLength(kept[i]));
        }
    }

    private void moveInts(WritableColumnVector vector) {
        for (int i = first; i < end; i++) {
            vector.putInt(i, vector.getInt(kept[i]));
        }
    }

    private void moveLongs(WritableColumnVector vector) {
        for (int i = first; i < end; i++) {
            vector.putLong(i, vector.getLong(kept[i]));
        }
    }

    private void moveDoubles(WritableColumnVector vector) {
        for (int i = first; i < end; i++) {
            vector.putDouble(i, vector.getDouble(kept[i]));
        }
    }

    /** Moves a row; frequent types have loops of their own, which are faster. */
    private interface Mover {
        void move(int to, int from);
    }

    private void moveEach(Mover mover) {
        for (int i = first; i < end; i++) {
            mover.move(i, kept[i]);
        }
    }
}
