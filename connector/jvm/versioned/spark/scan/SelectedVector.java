package versioned.spark.scan;

import java.util.Arrays;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/** A column of which some rows are shown. */
final class SelectedVector extends ColumnVector {
    private final ColumnVector all;
    private final int[] shown;
    private SelectedVector[] children = {};

    /** @param shown the indexes of the rows, which change with each batch */
    SelectedVector(ColumnVector all, int[] shown) {
        super(all.dataType());
        this.all = all;
        this.shown = shown;
    }

    @Override
    public boolean hasNull() {
        return all.hasNull(); // perhaps in rows that are not shown: users only skip work if there is none
    }

    @Override
    public int numNulls() {
        return all.numNulls();
    }

    @Override
    public boolean isNullAt(int row) {
        return all.isNullAt(shown[row]);
    }

    @Override
    public boolean getBoolean(int row) {
        return all.getBoolean(shown[row]);
    }

    @Override
    public byte getByte(int row) {
        return all.getByte(shown[row]);
    }

    @Override
    public short getShort(int row) {
        return all.getShort(shown[row]);
    }

    @Override
    public int getInt(int row) {
        return all.getInt(shown[row]);
    }

    @Override
    public long getLong(int row) {
        return all.getLong(shown[row]);
    }

    @Override
    public float getFloat(int row) {
        return all.getFloat(shown[row]);
    }

    @Override
    public double getDouble(int row) {
        return all.getDouble(shown[row]);
    }

    @Override
    public Decimal getDecimal(int row, int precision, int scale) {
        return all.getDecimal(shown[row], precision, scale);
    }

    @Override
    public UTF8String getUTF8String(int row) {
        return all.getUTF8String(shown[row]);
    }

    @Override
    public byte[] getBinary(int row) {
        return all.getBinary(shown[row]);
    }

    @Override
    public ColumnarArray getArray(int row) {
        return all.getArray(shown[row]);
    }

    @Override
    public ColumnarMap getMap(int row) {
        return all.getMap(shown[row]);
    }

    /** The values of a field, which has a row for each row of its struct; elements of arrays are found by their arrays. */
    @Override
    public ColumnVector getChild(int ordinal) {
        if (type instanceof ArrayType || type instanceof MapType) {
            return all.getChild(ordinal);
        }
        if (ordinal >= children.length) {
            children = Arrays.copyOf(children, ordinal + 1);
        }
        if (children[ordinal] == null) {
            children[ordinal] = new SelectedVector(all.getChild(ordinal), shown);
        }
        return children[ordinal];
    }

    @Override
    public void close() {
        // The reader closes the column that it reads.
    }
}
