package versioned.spark.write;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.stream.StreamSupport;
import org.apache.spark.sql.connector.distributions.Distribution;
import org.apache.spark.sql.connector.distributions.Distributions;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NullOrdering;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import versioned.spark.catalog.Transforms;

/**
 * How Spark spreads rows over tasks before they are written, and sorts those of a task: as Python decides.
 *
 * @param distribution which rows go to one task
 * @param ordering of the rows of a task
 * @param bytes how much a task is to get, as far as Spark can tell beforehand; 0 where rows stay where they are
 */
record Arrangement(Distribution distribution, SortOrder[] ordering, long bytes) {
    static Arrangement parse(JsonNode json) {
        SortOrder[] ordering = sorts(json.get("order_by"));
        return switch (json.get("distribution").asText()) {
            case "hash" -> new Arrangement(Distributions.clustered(expressions(json.get("by"))), ordering,
                json.get("bytes").asLong());
            case "range" -> new Arrangement(Distributions.ordered(sorts(json.get("by"))), ordering,
                json.get("bytes").asLong());
            default -> new Arrangement(Distributions.unspecified(), ordering, 0);
        };
    }

    /** The same, for a writer that sorts by itself. */
    Arrangement unordered() {
        return new Arrangement(distribution, new SortOrder[0], bytes);
    }

    private static Expression[] expressions(JsonNode list) {
        return StreamSupport.stream(list.spliterator(), false).map(Transforms::expression).toArray(Expression[]::new);
    }

    private static SortOrder[] sorts(JsonNode list) {
        return StreamSupport.stream(list.spliterator(), false).map(Arrangement::sort).toArray(SortOrder[]::new);
    }

    /** Null is the least value. */
    private static SortOrder sort(JsonNode json) {
        boolean descends = json.path("descending").asBoolean();
        return Expressions.sort(Transforms.expression(json),
            descends ? SortDirection.DESCENDING : SortDirection.ASCENDING,
            descends ? NullOrdering.NULLS_LAST : NullOrdering.NULLS_FIRST);
    }
}
