package versioned.spark.function;

import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A hash of the values of a partition. Rows that are sorted by it come partition by partition, and Spark sorts by one number
 * without comparing rows. Strings are hashed by their bytes, since values that a collation calls equal may be two partitions.
 */
final class PartitionHash extends Functions.TransformFunction<Long> {
    static final String NAME = Functions.PARTITION_HASH;
    static final UnboundFunction UNBOUND = new Unbound();

    private static final long SEED = 42;

    private final DataType[] types;

    private PartitionHash(DataType[] types) {
        this.types = types;
    }

    @Override
    public DataType[] inputTypes() {
        return types;
    }

    @Override
    public DataType resultType() {
        return DataTypes.LongType;
    }

    @Override
    public boolean isResultNullable() {
        return false;
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public String canonicalName() {
        return "versioned." + NAME + Stream.of(types).map(DataType::catalogString).toList();
    }

    @Override
    public Long produceResult(InternalRow input) {
        long hash = SEED;
        for (int i = 0; i < types.length; i++) {
            // A null differs from a value of the same bits.
            hash = input.isNullAt(i) ? XXH64.hashInt(0, ~hash) : hash(input.get(i, types[i]), hash);
        }
        return hash;
    }

    private static long hash(Object value, long seed) {
        if (value instanceof UTF8String text) {
            return XXH64.hashUnsafeBytes(text.getBaseObject(), text.getBaseOffset(), text.numBytes(), seed);
        }
        if (value instanceof byte[] bytes) {
            return hashBytes(bytes, seed);
        }
        if (value instanceof Decimal decimal) {
            return hashBytes(decimal.toJavaBigDecimal().unscaledValue().toByteArray(), seed);
        }
        return XXH64.hashLong(value instanceof Boolean flag ? (flag ? 1 : 0) : ((Number) value).longValue(), seed);
    }

    private static long hashBytes(byte[] bytes, long seed) {
        return XXH64.hashUnsafeBytes(bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length, seed);
    }

    private static final class Unbound implements UnboundFunction {
        @Override
        public BoundFunction bind(StructType input) {
            return new PartitionHash(Stream.of(input.fields()).map(StructField::dataType).toArray(DataType[]::new));
        }

        @Override
        public String description() {
            return NAME + "(values): the same for rows of one partition";
        }

        @Override
        public String name() {
            return NAME;
        }
    }
}
