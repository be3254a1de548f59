package versioned.spark.extension;

import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import scala.Function1;
import scala.PartialFunction;
import scala.runtime.AbstractPartialFunction;
import versioned.spark.internals.SparkCatalogs;

/** A rule that replaces single nodes of a plan. */
abstract class PlanRule extends Rule<LogicalPlan> {
    /** The replacement of a node; empty to keep it. */
    abstract Optional<LogicalPlan> replace(LogicalPlan node);

    /** A node with another member. */
    static LogicalPlan with(LogicalPlan node, int place, Object member) {
        return (LogicalPlan) node.makeCopy(SparkCatalogs.members(node, place, member));
    }

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        return plan.resolveOperatorsUp(replacing(this::replace));
    }

    /** The function of a transform that replaces single nodes. */
    static PartialFunction<LogicalPlan, LogicalPlan> replacing(Function<LogicalPlan, Optional<LogicalPlan>> replacement) {
        return new AbstractPartialFunction<>() {
            @Override
            public boolean isDefinedAt(LogicalPlan node) {
                return true;
            }

            @Override
            public <A extends LogicalPlan, B> B applyOrElse(A node, Function1<A, B> other) {
                @SuppressWarnings("unchecked")
                B replaced = (B) replacement.apply(node).orElse(node);
                return replaced;
            }
        };
    }
}
