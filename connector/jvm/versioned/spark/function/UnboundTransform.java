package versioned.spark.function;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.StructType;
import versioned.spark.protocol.CheckTransform;
import versioned.spark.python.Python;

/**
 * A partition transform as a function of SQL.
 *
 * @param name its name in the format
 * @param isSized whether it takes a number before the value
 */
record UnboundTransform(String name, boolean isSized) implements UnboundFunction {
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
