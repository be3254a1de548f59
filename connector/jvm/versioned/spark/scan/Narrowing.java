package versioned.spark.scan;

import java.io.Serializable;
import java.math.BigDecimal;
import org.apache.spark.rdd.InputFileBlockHolder;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.CharType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.VarcharType;
import org.apache.spark.unsafe.types.UTF8String;
import versioned.spark.protocol.NarrowedColumn;
import versioned.spark.protocol.TableRef;
import versioned.spark.python.Condition;

/**
 * A column that is shown in an earlier, narrower type than it is stored in. A value fits if it is the widening of a value
 * of the earlier type (FORMAT.md, section 4.6).
 */
final class Narrowing implements Serializable {
    private static final long MICROS_PER_DAY = 86_400_000_000L;

    private final String table;
    private final String column;
    private final boolean showsNull;
    private final DataType stored;
    private final DataType shown;
    private final long least;
    private final long greatest;
    private final Narrowing[] fields;

    private Narrowing(String table, String column, boolean showsNull, DataType stored, DataType shown) {
        this.table = table;
        this.column = column;
        this.showsNull = showsNull;
        this.stored = stored;
        this.shown = shown;
        int bits = shown instanceof ByteType ? 8 : shown instanceof ShortType ? 16 : shown instanceof IntegerType ? 32 : 64;
        this.least = -1L << (bits - 1);
        this.greatest = ~least;
        this.fields = stored instanceof StructType from ? fields(from, (StructType) shown) : null;
    }

    private Narrowing[] fields(StructType from, StructType to) {
        Narrowing[] inner = new Narrowing[from.size()];
        for (int i = 0; i < inner.length; i++) {
            DataType wide = from.fields()[i].dataType();
            DataType narrow = to.fields()[i].dataType();
            inner[i] = isAlike(wide, narrow) ? null
                : new Narrowing(table, column + "." + to.fields()[i].name(), showsNull, wide, narrow);
        }
        return inner;
    }

    private static boolean isAlike(DataType wide, DataType narrow) {
        return DataType.equalsStructurally(wide, narrow, true);
    }

    static Narrowing of(TableRef table, NarrowedColumn column) {
        return new Narrowing(table.name(), column.name(), table.overflow().equals("null"), column.stored(), column.shown());
    }

    /** The type of the values in Spark. */
    DataType type() {
        return CharVarcharUtils.replaceCharVarcharWithString(shown);
    }

    DataType stored() {
        return stored;
    }

    /** Whether the values are 64-bit integers that are shown as smaller ones: those from least to greatest fit. */
    boolean isInteger() {
        return stored instanceof LongType && !(shown instanceof DateType);
    }

    long least() {
        return least;
    }

    long greatest() {
        return greatest;
    }

    /** Whether null is shown in place of a value that does not fit; else it is an error. */
    boolean showsNull() {
        return showsNull;
    }

    /** The narrowing of each field of a struct, null for a field that is shown as it is; null for any other column. */
    Narrowing[] fields() {
        return fields;
    }

    boolean fits(long value) {
        return shown instanceof DateType ? value % MICROS_PER_DAY == 0 : value >= least && value <= greatest;
    }

    boolean fits(double value) {
        return shown instanceof FloatType ? value != value || (float) value == value
            : value == Math.floor(value) && value >= least && value <= greatest;
    }

    boolean fits(Decimal value) {
        if (shown instanceof DecimalType type) {
            Decimal narrow = value.clone();
            return narrow.changePrecision(type.precision(), type.scale()) && narrow.compare(value) == 0;
        }
        BigDecimal exact = value.toJavaBigDecimal();
        return exact.remainder(BigDecimal.ONE).signum() == 0 && exact.compareTo(BigDecimal.valueOf(least)) >= 0
            && exact.compareTo(BigDecimal.valueOf(greatest)) <= 0;
    }

    boolean fits(UTF8String value) {
        return value.numChars() <= (shown instanceof CharType type ? type.length() : ((VarcharType) shown).length());
    }

    /** A value that fits, of an integer or a time, as an integer or a day. */
    long integer(long value) {
        check(fits(value));
        return shown instanceof DateType ? Math.floorDiv(value, MICROS_PER_DAY) : value;
    }

    long integer(double value) {
        check(fits(value));
        return (long) value;
    }

    long integer(Decimal value) {
        check(fits(value));
        return value.toLong();
    }

    float real(double value) {
        check(fits(value));
        return (float) value;
    }

    Decimal decimal(Decimal value) {
        check(fits(value));
        Decimal narrow = value.clone();
        narrow.changePrecision(((DecimalType) shown).precision(), ((DecimalType) shown).scale());
        return narrow;
    }

    UTF8String text(UTF8String value) {
        check(fits(value));
        return value;
    }

    /** A value in the form of Spark's rows. */
    Object value(Object value) {
        if (value == null) {
            return null;
        }
        if (value instanceof InternalRow row) {
            return struct(row);
        }
        if (value instanceof UTF8String text) {
            return showsNull && !fits(text) ? null : text(text);
        }
        if (value instanceof Decimal number) {
            return showsNull && !fits(number) ? null : shown instanceof DecimalType ? decimal(number) : boxed(integer(number));
        }
        if (stored instanceof DoubleType) {
            double number = (Double) value;
            return showsNull && !fits(number) ? null
                : shown instanceof FloatType ? (Object) real(number) : boxed(integer(number));
        }
        long number = ((Number) value).longValue();
        return showsNull && !fits(number) ? null : boxed(integer(number));
    }

    private Object struct(InternalRow row) {
        StructType from = (StructType) stored;
        Object[] values = new Object[fields.length];
        for (int i = 0; i < values.length; i++) {
            Object value = row.isNullAt(i) ? null : row.get(i, from.fields()[i].dataType());
            values[i] = fields[i] == null ? value : fields[i].value(value);
        }
        return new GenericInternalRow(values);
    }

    private Object boxed(long value) {
        return shown instanceof ByteType ? (Object) (byte) value : shown instanceof ShortType ? (Object) (short) value
            : shown instanceof LongType ? (Object) value : (Object) (int) value;
    }

    private void check(boolean fits) {
        if (!fits) {
            throw Condition.INVALID_VALUE.error(table + ": the column " + column + " is " + stored.sql() + " now, and a value in "
                + segment() + " does not fit " + shown.sql() + ", the type in the schema that you read; read the current schema, "
                + "or read null in its place with the option onOverflow = null");
        }
    }

    /** The path of the segment that this task reads. */
    private static String segment() {
        String path = String.valueOf(InputFileBlockHolder.getInputFilePath());
        int start = path.lastIndexOf("/data/");
        return start < 0 ? path : path.substring(start + 1);
    }
}
