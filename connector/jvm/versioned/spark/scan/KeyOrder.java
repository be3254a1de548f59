package versioned.spark.scan;

import java.math.BigInteger;
import java.util.Arrays;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimeType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.types.YearMonthIntervalType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.unsafe.types.ByteArray;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * How values of a key column are ordered (FORMAT.md, section 4.1). Each has a prefix, a number that sorts as it does, so that most
 * comparisons touch no text.
 *
 * @param <V> a value; it may be valid only as long as its batch
 */
abstract class KeyOrder<V> {
    private static final long SIGN = Long.MIN_VALUE; // turns the order of unsigned numbers into that of signed ones

    /** The order of a type of key columns. Python reads those of any other type. */
    static KeyOrder<?> of(DataType type) {
        if (type instanceof DecimalType decimal && decimal.precision() > Decimal.MAX_LONG_DIGITS()) {
            return new Wide(decimal);
        }
        if (type instanceof StringType) {
            return new Text();
        }
        return type instanceof BinaryType ? new Bytes() : new Numbers(type);
    }

    /** Whether equal prefixes mean equal values. */
    abstract boolean isExact();

    /** A value in the form of Spark's rows as one of this order. */
    abstract V of(Object value);

    abstract V get(ColumnVector column, int row);

    abstract long prefix(V value);

    abstract int compare(V one, V other);

    /** A value that stays valid when its batch does not. */
    V kept(V value) {
        return value;
    }

    /** The prefixes of the first rows of a column. */
    void prefixes(ColumnVector column, int rows, long[] into) {
        for (int row = 0; row < rows; row++) {
            into[row] = prefix(get(column, row));
        }
    }

    /** Numbers, times and booleans, and decimals that fit into a long. */
    private static final class Numbers extends KeyOrder<Long> {
        private final DataType type;

        Numbers(DataType type) {
            this.type = type;
        }

        @Override
        boolean isExact() {
            return true;
        }

        @Override
        Long of(Object value) {
            return value instanceof Boolean flag ? (flag ? 1L : 0L)
                : value instanceof Decimal decimal ? decimal.toUnscaledLong() : ((Number) value).longValue();
        }

        @Override
        Long get(ColumnVector column, int row) {
            if (type instanceof BooleanType) {
                return column.getBoolean(row) ? 1L : 0L;
            }
            if (type instanceof ByteType) {
                return (long) column.getByte(row);
            }
            if (type instanceof ShortType) {
                return (long) column.getShort(row);
            }
            if (isInt()) {
                return (long) column.getInt(row);
            }
            if (isLong()) {
                return column.getLong(row);
            }
            if (type instanceof DecimalType decimal) {
                return column.getDecimal(row, decimal.precision(), decimal.scale()).toUnscaledLong();
            }
            throw new IllegalStateException("a key column has the type " + type);
        }

        private boolean isInt() {
            return type instanceof IntegerType || type instanceof DateType || type instanceof YearMonthIntervalType;
        }

        private boolean isLong() {
            return type instanceof LongType || type instanceof TimestampType || type instanceof TimestampNTZType
                || type instanceof TimeType || type instanceof DayTimeIntervalType;
        }

        @Override
        long prefix(Long value) {
            return value;
        }

        @Override
        int compare(Long one, Long other) {
            return Long.compare(one, other);
        }

        @Override
        void prefixes(ColumnVector column, int rows, long[] into) {
            if (isLong()) {
                for (int row = 0; row < rows; row++) {
                    into[row] = column.getLong(row);
                }
            } else if (isInt()) {
                for (int row = 0; row < rows; row++) {
                    into[row] = column.getInt(row);
                }
            } else {
                super.prefixes(column, rows, into);
            }
        }
    }

    private static final class Text extends KeyOrder<UTF8String> {
        @Override
        boolean isExact() {
            return false;
        }

        @Override
        UTF8String of(Object value) {
            return (UTF8String) value;
        }

        @Override
        UTF8String get(ColumnVector column, int row) {
            return column.getUTF8String(row);
        }

        @Override
        long prefix(UTF8String value) {
            return value.getPrefix() ^ SIGN;
        }

        @Override
        int compare(UTF8String one, UTF8String other) {
            return one.binaryCompare(other);
        }

        @Override
        UTF8String kept(UTF8String value) {
            return value.clone();
        }
    }

    private static final class Bytes extends KeyOrder<byte[]> {
        @Override
        boolean isExact() {
            return false;
        }

        @Override
        byte[] of(Object value) {
            return (byte[]) value;
        }

        @Override
        byte[] get(ColumnVector column, int row) {
            return column.getBinary(row);
        }

        @Override
        long prefix(byte[] value) {
            return ByteArray.getPrefix(value) ^ SIGN;
        }

        @Override
        int compare(byte[] one, byte[] other) {
            return Arrays.compareUnsigned(one, other);
        }
    }

    /** Decimals of up to 38 digits, by their unscaled values. */
    private static final class Wide extends KeyOrder<BigInteger> {
        private final DecimalType type;

        Wide(DecimalType type) {
            this.type = type;
        }

        @Override
        boolean isExact() {
            return false;
        }

        @Override
        BigInteger of(Object value) {
            return ((Decimal) value).toJavaBigDecimal().setScale(type.scale()).unscaledValue();
        }

        @Override
        BigInteger get(ColumnVector column, int row) {
            return of(column.getDecimal(row, type.precision(), type.scale()));
        }

        @Override
        long prefix(BigInteger value) {
            return value.shiftRight(Long.SIZE).longValueExact();
        }

        @Override
        int compare(BigInteger one, BigInteger other) {
            return one.compareTo(other);
        }
    }
}
