package versioned.spark.extension;

import java.util.Optional;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReturnAnswer;
import versioned.spark.internals.SparkExpressions;

/**
 * Keeps Spark from checking constraints early: it pushes their conditions below joins, aggregates and projections, as it does with those of
 * any WHERE, and so refuses rows that are never written, and computes values twice. No condition is pushed below the node that marks the
 * result of a query, which costs nothing.
 */
public final class CheckLast extends PlanRule {
    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        return node instanceof Filter filter && SparkExpressions.checksConstraint(filter.condition()) && !(filter.child() instanceof ReturnAnswer)
            ? Optional.of(with(filter, 1, new ReturnAnswer(filter.child()))) : Optional.empty();
    }
}
