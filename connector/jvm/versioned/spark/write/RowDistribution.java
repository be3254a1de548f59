package versioned.spark.write;

import java.util.List;
import org.apache.spark.sql.connector.distributions.Distribution;
import org.apache.spark.sql.connector.distributions.Distributions;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NullOrdering;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import versioned.spark.function.Functions;
import versioned.spark.protocol.HashKey;
import versioned.spark.protocol.SortKey;
import versioned.spark.protocol.TransformKey;
import versioned.spark.python.Transforms;

/**
 * How Spark distributes rows over tasks before they are written, and sorts those of a task.
 *
 * @param distribution which rows go to one task
 * @param ordering of the rows of a task
 * @param bytes advisory size of a task's rows; 0 if rows are not shuffled
 */
record RowDistribution(Distribution distribution, SortOrder[] ordering, long bytes) {
    /** Rows are written where they are, and as they come. */
    static final RowDistribution NONE = new RowDistribution(Distributions.unspecified(), new SortOrder[0], 0);

    static RowDistribution of(versioned.spark.protocol.Distribution asked) {
        SortOrder[] ordering = sorts(asked.orderBy());
        return switch (asked.mode()) {
            case "hash" -> new RowDistribution(Distributions.clustered(
                asked.by().stream().map(RowDistribution::expression).toArray(Expression[]::new)), ordering, asked.bytes());
            case "range" -> new RowDistribution(Distributions.ordered(sorts(asked.by())), ordering, asked.bytes());
            default -> new RowDistribution(Distributions.unspecified(), ordering, 0);
        };
    }

    /** The same, for a writer that sorts by itself. */
    RowDistribution unordered() {
        return new RowDistribution(distribution, new SortOrder[0], bytes);
    }

    private static Expression expression(SortKey key) {
        if (key instanceof HashKey hash) {
            return Expressions.apply(Functions.PARTITION_HASH,
                hash.by().stream().map(Transforms::expression).toArray(Expression[]::new));
        }
        return Transforms.expression(((TransformKey) key).by());
    }

    private static SortOrder[] sorts(List<SortKey> keys) {
        return keys.stream().map(RowDistribution::sort).toArray(SortOrder[]::new);
    }

    private static SortOrder sort(SortKey key) {
        boolean descends = key instanceof TransformKey transform && transform.descending();
        boolean nullsLast = key instanceof TransformKey transform && !transform.nullsFirst();
        return Expressions.sort(expression(key), descends ? SortDirection.DESCENDING : SortDirection.ASCENDING,
            nullsLast ? NullOrdering.NULLS_LAST : NullOrdering.NULLS_FIRST);
    }
}
