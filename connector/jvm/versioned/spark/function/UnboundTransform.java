package versioned.spark.function;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.StructType;
import versioned.spark.python.Python;
import versioned.spark.python.Values;

/**
 * A partition transform as a function of SQL.
 *
 * @param name its name in the format
 * @param isSized whether it takes a number before the value
 */
record UnboundTransform(String name, boolean isSized) implements UnboundFunction {
    /** Which transform applies to which type, as Python has said; empty where it does. */
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
        ObjectNode request = Python.JSON.createObjectNode().put("transform", isSized ? name + "(1)" : name);
        request.set("type", Values.type(type));
        return Python.ask("check_transform", request).get("refusal").asText();
    }

    private String usage() {
        return isSized ? name + "(n, column), n an INT" : name + "(column)";
    }

    @Override
    public String description() {
        return usage() + ": the partition transform of versioned tables";
    }
}
