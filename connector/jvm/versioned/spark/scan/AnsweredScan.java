package versioned.spark.scan;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
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
import versioned.spark.catalog.VersionedTable;
import versioned.spark.python.AnsweredRows;
import versioned.spark.python.Python;
import versioned.spark.python.Values;

/** COUNT, MIN and MAX of a whole table, answered from its metadata: one row. */
final class AnsweredScan {
    private AnsweredScan() {}

    /** The answer, if the metadata has it for certain. */
    static Optional<Scan> ask(VersionedTable table, Aggregation aggregation) {
        if (aggregation.groupByExpressions().length > 0) {
            return Optional.empty();
        }
        ObjectNode request = table.ref().request();
        ArrayNode functions = request.putArray("functions");
        for (AggregateFunc function : aggregation.aggregateExpressions()) {
            Optional<ObjectNode> told = tell(function);
            if (told.isEmpty()) {
                return Optional.empty();
            }
            functions.add(told.get());
        }
        JsonNode answers = Python.ask("aggregate", request).get("answers");
        return answers.isNull() ? Optional.empty() : Optional.of(parse(table, answers));
    }

    private static Optional<ObjectNode> tell(AggregateFunc function) {
        ObjectNode json = Python.JSON.createObjectNode();
        if (function instanceof CountStar) {
            return Optional.of(json.put("function", "count"));
        }
        if (function instanceof Count count && !count.isDistinct()) {
            json.put("function", "count");
        } else if (function instanceof Min) {
            json.put("function", "min");
        } else if (function instanceof Max) {
            json.put("function", "max");
        } else {
            return Optional.empty();
        }
        if (!(function.children()[0] instanceof NamedReference column)) {
            return Optional.empty();
        }
        json.set("column", Python.JSON.valueToTree(column.fieldNames()));
        return Optional.of(json);
    }

    private static Scan parse(VersionedTable table, JsonNode answers) {
        StructType schema = new StructType();
        ArrayNode row = Python.JSON.createArrayNode();
        for (JsonNode answer : answers) {
            schema = schema.add("answer_" + row.size(), Values.type(answer.get("type")));
            row.add(answer.get("value"));
        }
        return AnsweredRows.parse("VersionedAnswer " + table + " from metadata", schema,
            Python.JSON.createArrayNode().add(row));
    }
}
