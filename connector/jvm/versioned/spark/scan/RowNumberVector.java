package versioned.spark.scan;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/** A column of {@link RowNumbers}, computed when it is used. */
final class RowNumberVector extends ColumnVector {
    private final ColumnVector stored; // null for none
    private final ColumnVector most; // null for none
    private final ColumnVector base;
    private final ColumnVector position; // null for none

    RowNumberVector(ColumnarBatch batch, RowNumbers numbers) {
        super(DataTypes.LongType);
        this.stored = column(batch, numbers.stored());
        this.most = column(batch, numbers.most());
        this.base = column(batch, numbers.base());
        this.position = column(batch, numbers.position());
    }

    private static ColumnVector column(ColumnarBatch batch, int index) {
        return index < 0 ? null : batch.column(index);
    }

    @Override
    public long getLong(int row) {
        if (stored != null && !stored.isNullAt(row)) {
            long number = stored.getLong(row);
            if (most == null) {
                return number;
            }
            if (number - 1 <= most.getLong(row)) {
                return number - 1; // versions count from 1 in files
            }
        }
        return base.getLong(row) + (position == null ? 0 : position.getLong(row));
    }

    @Override
    public boolean hasNull() {
        return false;
    }

    @Override
    public int numNulls() {
        return 0;
    }

    @Override
    public boolean isNullAt(int row) {
        return false;
    }

    @Override
    public boolean getBoolean(int row) {
        throw unsupported();
    }

    @Override
    public byte getByte(int row) {
        throw unsupported();
    }

    @Override
    public short getShort(int row) {
        throw unsupported();
    }

    @Override
    public int getInt(int row) {
        throw unsupported();
    }

    @Override
    public float getFloat(int row) {
        throw unsupported();
    }

    @Override
    public double getDouble(int row) {
        throw unsupported();
    }

    @Override
    public Decimal getDecimal(int row, int precision, int scale) {
        throw unsupported();
    }

    @Override
    public UTF8String getUTF8String(int row) {
        throw unsupported();
    }

    @Override
    public byte[] getBinary(int row) {
        throw unsupported();
    }

    @Override
    public ColumnarArray getArray(int row) {
        throw unsupported();
    }

    @Override
    public ColumnarMap getMap(int row) {
        throw unsupported();
    }

    @Override
    public ColumnVector getChild(int ordinal) {
        throw unsupported();
    }

    private static UnsupportedOperationException unsupported() {
        return new UnsupportedOperationException("a column of row IDs is a BIGINT");
    }

    @Override
    public void close() {
        // The reader closes the columns that it reads.
    }
}
