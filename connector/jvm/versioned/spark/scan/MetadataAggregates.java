package versioned.spark.scan;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.Count;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.aggregate.Max;
import org.apache.spark.sql.connector.expressions.aggregate.Min;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StructType;
import versioned.spark.protocol.*;
import versioned.spark.python.LocalRows;
import versioned.spark.python.Python;
import versioned.spark.python.TableRefs;

/** COUNT, MIN and MAX of a whole table, computed from its metadata: one row. */
final class MetadataAggregates {
    private MetadataAggregates() {}

    /** The row, if metadata determines all of it. */
    static Optional<Scan> find(TableRef table, Aggregation aggregation) {
        if (aggregation.groupByExpressions().length > 0) {
            return Optional.empty();
        }
        List<AggregateFunction> functions = new ArrayList<>();
        for (AggregateFunc function : aggregation.aggregateExpressions()) {
            Optional<AggregateFunction> known = known(function);
            if (known.isEmpty()) {
                return Optional.empty();
            }
            functions.add(known.get());
        }
        return Optional.ofNullable(Python.send(new Aggregate(table, functions)).values()).map(row -> scan(table, row));
    }

    private static Optional<AggregateFunction> known(AggregateFunc function) {
        if (function instanceof CountStar) {
            return Optional.of(new AggregateFunction("count", null));
        }
        String name = function instanceof Min ? "min" : function instanceof Max ? "max"
            : function instanceof Count count && !count.isDistinct() ? "count" : null;
        return name != null && function.children()[0] instanceof NamedReference column
            ? Optional.of(new AggregateFunction(name, List.of(column.fieldNames()))) : Optional.empty();
    }

    private static Scan scan(TableRef table, List<TypedValue> values) {
        StructType schema = new StructType();
        List<JsonNode> row = new ArrayList<>();
        for (TypedValue value : values) {
            schema = schema.add("answer_" + row.size(), value.type());
            row.add(value.value());
        }
        return LocalRows.parse("VersionedAnswer " + TableRefs.label(table) + " from metadata", schema, List.of(row));
    }
}
