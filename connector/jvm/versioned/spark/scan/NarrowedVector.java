package versioned.spark.scan;

import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/** A column that is shown in a narrower type than it was read in. Values are checked when they are used. */
final class NarrowedVector extends ColumnVector {
    private enum Kind { SHORT, INT, LONG, DOUBLE, DECIMAL, TEXT, STRUCT }

    private final ColumnVector wide;
    private final Narrowing narrowing;
    private final Kind kind;
    private final boolean isInteger;
    private final long least;
    private final long greatest;
    private final int precision;
    private final int scale;
    private final ColumnVector[] children;

    NarrowedVector(ColumnVector wide, Narrowing narrowing) {
        super(narrowing.type());
        this.wide = wide;
        this.narrowing = narrowing;
        this.kind = narrowing.stored() instanceof ShortType ? Kind.SHORT : narrowing.stored() instanceof IntegerType ? Kind.INT
            : narrowing.stored() instanceof DoubleType ? Kind.DOUBLE : narrowing.stored() instanceof DecimalType ? Kind.DECIMAL
            : narrowing.stored() instanceof StringType ? Kind.TEXT : narrowing.stored() instanceof StructType ? Kind.STRUCT
            : Kind.LONG;
        this.isInteger = narrowing.isInteger();
        this.least = narrowing.least();
        this.greatest = narrowing.greatest();
        this.precision = narrowing.stored() instanceof DecimalType decimal ? decimal.precision() : 0;
        this.scale = narrowing.stored() instanceof DecimalType decimal ? decimal.scale() : 0;
        this.children = kind == Kind.STRUCT ? children(wide, narrowing.fields()) : null;
    }

    private static ColumnVector[] children(ColumnVector wide, Narrowing[] fields) {
        ColumnVector[] children = new ColumnVector[fields.length];
        for (int i = 0; i < children.length; i++) {
            ColumnVector child = wide.getChild(i);
            children[i] = fields[i] == null ? child : new NarrowedVector(child, fields[i]);
        }
        return children;
    }

    private long integer(int row) {
        if (isInteger) { // the most common one
            long value = wide.getLong(row);
            return value >= least && value <= greatest ? value : narrowing.integer(value);
        }
        return switch (kind) {
            case SHORT -> narrowing.integer(wide.getShort(row));
            case INT -> narrowing.integer(wide.getInt(row));
            case DOUBLE -> narrowing.integer(wide.getDouble(row));
            case DECIMAL -> narrowing.integer(decimal(row));
            default -> narrowing.integer(wide.getLong(row));
        };
    }

    private Decimal decimal(int row) {
        return wide.getDecimal(row, precision, scale);
    }

    private boolean fits(int row) {
        return switch (kind) {
            case SHORT -> narrowing.fits(wide.getShort(row));
            case INT -> narrowing.fits(wide.getInt(row));
            case LONG -> narrowing.fits(wide.getLong(row));
            case DOUBLE -> narrowing.fits(wide.getDouble(row));
            case DECIMAL -> narrowing.fits(decimal(row));
            case TEXT -> narrowing.fits(wide.getUTF8String(row));
            case STRUCT -> true;
        };
    }

    @Override
    public boolean hasNull() {
        return narrowing.showsNull() || wide.hasNull();
    }

    @Override
    public int numNulls() {
        return wide.numNulls();
    }

    @Override
    public boolean isNullAt(int row) {
        return wide.isNullAt(row) || narrowing.showsNull() && !fits(row);
    }

    @Override
    public byte getByte(int row) {
        return (byte) integer(row);
    }

    @Override
    public short getShort(int row) {
        return (short) integer(row);
    }

    @Override
    public int getInt(int row) {
        return (int) integer(row);
    }

    @Override
    public long getLong(int row) {
        return integer(row);
    }

    @Override
    public float getFloat(int row) {
        return narrowing.real(wide.getDouble(row));
    }

    @Override
    public Decimal getDecimal(int row, int shownPrecision, int shownScale) {
        return wide.isNullAt(row) ? null : narrowing.decimal(decimal(row));
    }

    @Override
    public UTF8String getUTF8String(int row) {
        return wide.isNullAt(row) ? null : narrowing.text(wide.getUTF8String(row));
    }

    @Override
    public ColumnVector getChild(int ordinal) {
        return children[ordinal];
    }

    @Override
    public boolean getBoolean(int row) {
        throw unsupported();
    }

    @Override
    public double getDouble(int row) {
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
    public byte[] getBinary(int row) {
        throw unsupported();
    }

    private UnsupportedOperationException unsupported() {
        return new UnsupportedOperationException("no type widens from " + type.sql() + " to another that is read so");
    }

    @Override
    public void close() {
        // The reader closes the column that it reads.
    }
}
