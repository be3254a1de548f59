package versioned.spark.scan;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.connector.expressions.Expression;
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

/** COUNT, MIN and MAX of a whole table or of its groups, computed from its metadata. */
final class MetadataAggregates {
    private MetadataAggregates() {}

    /** The rows, if metadata determines all of them. */
    static Optional<Scan> find(TableRef table, Aggregation aggregation) {
        List<List<String>> by = new ArrayList<>();
        for (Expression expression : aggregation.groupByExpressions()) {
            if (!(expression instanceof NamedReference column)) {
                return Optional.empty();
            }
            by.add(List.of(column.fieldNames()));
        }
        List<AggregateFunction> functions = new ArrayList<>();
        for (AggregateFunc function : aggregation.aggregateExpressions()) {
            Optional<AggregateFunction> known = known(function);
            if (known.isEmpty()) {
                return Optional.empty();
            }
            functions.add(known.get());
        }
        if (by.isEmpty() && functions.isEmpty()) {
            return Optional.empty(); // one row of no columns
        }
        return Optional.ofNullable(Python.send(new Aggregate(table, functions, by)).columns()).map(found -> scan(table, found));
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

    private static Scan scan(TableRef table, List<AggregateColumn> columns) {
        StructType schema = new StructType();
        for (AggregateColumn column : columns) {
            schema = schema.add("answer_" + schema.size(), column.type());
        }
        return LocalRows.ofColumns("VersionedAnswer " + TableRefs.label(table) + " from metadata", schema,
            columns.stream().map(AggregateColumn::values).toList());
    }
}
