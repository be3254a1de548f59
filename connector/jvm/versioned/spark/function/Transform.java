package versioned.spark.function;

import java.math.BigInteger;
import java.time.LocalDate;
import java.util.Arrays;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.TimeType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;
import org.apache.spark.unsafe.types.UTF8String;
import versioned.spark.python.Values;

/**
 * A partition transform (FORMAT.md, section 4.5) on values in the form of Spark's rows. Python computes the same from Arrow;
 * both are tested with {@code tests/vectors/transforms.json}.
 */
public interface Transform {
    long MICROS_OF_DAY = 86_400_000_000L;
    long MICROS_OF_HOUR = 3_600_000_000L;
    int FIRST_YEAR = 1970;

    /** The partition value of a value that is not null. */
    Object apply(Object value);

    /** The type of partition values. */
    DataType result();

    /** A transform by its name in the format. */
    static Transform of(String name, int size, DataType type) {
        return switch (name) {
            case "identity" -> made(type, value -> value instanceof byte[] bytes ? bytes.clone() : value);
            case "years" -> made(DataTypes.IntegerType, value -> date(value, type).getYear() - FIRST_YEAR);
            case "months" -> made(DataTypes.IntegerType, value -> months(date(value, type)));
            case "days" -> made(DataTypes.IntegerType, value -> Math.toIntExact(days(value, type)));
            case "hours" -> made(DataTypes.IntegerType,
                value -> Math.toIntExact(Math.floorDiv((Long) value, MICROS_OF_HOUR)));
            case "bucket" -> made(DataTypes.IntegerType, value -> (hash(stored(value, type)) & Integer.MAX_VALUE) % size);
            case "truncate" -> made(type, value -> truncated(value, size, type));
            default -> throw new IllegalArgumentException("there is no transform " + name);
        };
    }

    private static Transform made(DataType result, java.util.function.Function<Object, Object> function) {
        return new Transform() {
            @Override
            public Object apply(Object value) {
                return function.apply(value);
            }

            @Override
            public DataType result() {
                return result;
            }
        };
    }

    private static long days(Object value, DataType type) {
        return type instanceof DateType ? (Integer) value : Math.floorDiv((Long) value, MICROS_OF_DAY);
    }

    private static LocalDate date(Object value, DataType type) {
        return LocalDate.ofEpochDay(days(value, type));
    }

    private static int months(LocalDate date) {
        return (date.getYear() - FIRST_YEAR) * 12 + date.getMonthValue() - 1;
    }

    private static Object stored(Object value, DataType type) {
        return type instanceof TimeType ? Math.floorDiv((Long) value, Values.NANOS_OF_MICRO) : value;
    }

    private static int hash(Object value) {
        if (value instanceof UTF8String text) {
            return hashBytes(text.getBytes());
        }
        if (value instanceof byte[] bytes) {
            return hashBytes(bytes);
        }
        if (value instanceof Decimal decimal) {
            return hashBytes(decimal.toJavaBigDecimal().unscaledValue().toByteArray());
        }
        return Murmur3_x86_32.hashLong(((Number) value).longValue(), 0);
    }

    private static int hashBytes(byte[] bytes) {
        return Murmur3_x86_32.hashUnsafeBytes2(bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length, 0);
    }

    private static Object truncated(Object value, int width, DataType type) {
        if (value instanceof UTF8String text) {
            return text.substring(0, width).copy();
        }
        if (value instanceof byte[] bytes) {
            return Arrays.copyOf(bytes, Math.min(width, bytes.length));
        }
        if (value instanceof Decimal decimal) {
            return truncatedDecimal(decimal, width, (DecimalType) type);
        }
        return truncatedInteger(((Number) value).longValue(), width, type);
    }

    private static Decimal truncatedDecimal(Decimal value, int width, DecimalType type) {
        BigInteger unscaled = value.toJavaBigDecimal().setScale(type.scale()).unscaledValue();
        BigInteger least = BigInteger.TEN.pow(type.precision()).subtract(BigInteger.ONE).negate();
        BigInteger made = unscaled.subtract(unscaled.mod(BigInteger.valueOf(width))).max(least);
        return Decimal.apply(new java.math.BigDecimal(made, type.scale()), type.precision(), type.scale());
    }

    private static Object truncatedInteger(long value, int width, DataType type) {
        long rest = Math.floorMod(value, (long) width);
        if (type instanceof ByteType) {
            return (byte) Math.max(value - rest, Byte.MIN_VALUE);
        }
        if (type instanceof ShortType) {
            return (short) Math.max(value - rest, Short.MIN_VALUE);
        }
        if (type instanceof IntegerType) {
            return (int) Math.max(value - rest, Integer.MIN_VALUE);
        }
        return value < Long.MIN_VALUE + rest ? Long.MIN_VALUE : value - rest;
    }
}
