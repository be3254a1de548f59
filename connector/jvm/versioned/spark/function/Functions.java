package versioned.spark.function;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.StructType;
import versioned.spark.protocol.CheckTransform;
import versioned.spark.python.Python;

/** The functions of every catalog: the partition transforms, as {@code days} and {@code system.days}. */
public final class Functions {
    /** The function that hashes the values of a partition. */
    public static final String PARTITION_HASH = "partition_hash";

    private static final String SYSTEM = "system";
    private static final List<UnboundTransform> TRANSFORMS = Stream.of(
        new UnboundTransform("identity", false),
        new UnboundTransform("years", false),
        new UnboundTransform("months", false),
        new UnboundTransform("days", false),
        new UnboundTransform("hours", false),
        new UnboundTransform("bucket", true),
        new UnboundTransform("truncate", true)).toList();

    private Functions() {}

    /** Whether a namespace has the functions: the top level and {@code system} do. */
    public static boolean isIn(String[] namespace) {
        return namespace.length == 0 || namespace.length == 1 && namespace[0].equalsIgnoreCase(SYSTEM);
    }

    /** The functions as identifiers in a namespace that has them. */
    public static Identifier[] list(String[] namespace) {
        return TRANSFORMS.stream().map(one -> Identifier.of(namespace, one.name())).toArray(Identifier[]::new);
    }

    /** A function by its name. */
    public static UnboundFunction load(Identifier ident) throws NoSuchFunctionException {
        String name = ident.name().toLowerCase(Locale.ROOT);
        Optional<UnboundFunction> found = isIn(ident.namespace()) ? named(name) : Optional.empty();
        return found.orElseThrow(() -> new NoSuchFunctionException(ident));
    }

    private static Optional<UnboundFunction> named(String name) {
        if (name.equals(PARTITION_HASH)) {
            return Optional.of(PartitionHash.UNBOUND);
        }
        return TRANSFORMS.stream().filter(one -> one.name().equals(name)).map(UnboundFunction.class::cast).findFirst();
    }

    /** A function that equals another of the same canonical name. */
    abstract static class TransformFunction<T> implements ScalarFunction<T> {
        @Override
        public final boolean equals(Object other) {
            return other instanceof TransformFunction<?> that && canonicalName().equals(that.canonicalName());
        }

        @Override
        public final int hashCode() {
            return canonicalName().hashCode();
        }

        /** As plans show it. */
        @Override
        public final String toString() {
            return name();
        }
    }

    /**
     * A partition transform as a function of SQL.
     *
     * @param name its name in the format
     * @param isSized whether it takes a number before the value
     */
    private record UnboundTransform(String name, boolean isSized) implements UnboundFunction {
        /** Why a transform does not apply to a type, as Python decides; empty if it does. */
        private static final Map<String, String> REFUSALS = new ConcurrentHashMap<>();

        @Override
        public BoundFunction bind(StructType input) {
            int given = isSized ? 2 : 1;
            if (input.size() != given || isSized && !isCount(input.fields()[0].dataType())) {
                throw new UnsupportedOperationException("write " + usage());
            }
            DataType type = input.fields()[given - 1].dataType();
            String refusal = REFUSALS.computeIfAbsent(name + " " + type.json(), asked -> refusal(type));
            if (!refusal.isEmpty()) {
                throw new UnsupportedOperationException(refusal);
            }
            return new BoundTransform(name, isSized, type);
        }

        private static boolean isCount(DataType type) {
            return type instanceof IntegerType;
        }

        private String refusal(DataType type) {
            String refusal = Python.send(new CheckTransform(isSized ? name + "(1)" : name, type)).refusal();
            return refusal == null ? "" : refusal;
        }

        private String usage() {
            return isSized ? name + "(n, column), n an INT" : name + "(column)";
        }

        @Override
        public String description() {
            return usage() + ": the partition transform of versioned tables";
        }
    }

    /** A partition transform of values of one type. */
    private static final class BoundTransform extends TransformFunction<Object> {
        private final String name;
        private final boolean isSized;
        private final DataType type;
        private final DataType result;
        private transient Transform transform;
        private transient int size;

        BoundTransform(String name, boolean isSized, DataType type) {
            this.name = name;
            this.isSized = isSized;
            this.type = type;
            this.result = Transform.of(name, 1, type).result();
        }

        @Override
        public DataType[] inputTypes() {
            return isSized ? new DataType[] {DataTypes.IntegerType, type} : new DataType[] {type};
        }

        @Override
        public DataType resultType() {
            return result;
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public String canonicalName() {
            return "versioned." + name + "(" + type.catalogString() + ")";
        }

        @Override
        public Object produceResult(InternalRow input) {
            int at = isSized ? 1 : 0;
            if (input.isNullAt(at) || input.isNullAt(0)) {
                return null;
            }
            return of(isSized ? input.getInt(0) : 1).apply(input.get(at, type));
        }

        private Transform of(int wanted) {
            if (transform == null || size != wanted) {
                if (wanted < 1) {
                    throw new IllegalArgumentException(name + "(" + wanted + "): the number must be at least 1");
                }
                transform = Transform.of(name, wanted, type);
                size = wanted;
            }
            return transform;
        }
    }
}
