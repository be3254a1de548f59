package versioned.spark.function;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;

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
}
