package versioned.spark.extension;

import java.util.Optional;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/** A rule that puts nodes of a plan in the place of others, one by one. */
abstract class PlanRule extends Rule<LogicalPlan> {
    /** What stands for a node; empty where it stays. */
    abstract Optional<LogicalPlan> replace(LogicalPlan node);

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        return plan.resolveOperatorsUp(new AbstractPartialFunction<LogicalPlan, LogicalPlan>() {
            @Override
            public boolean isDefinedAt(LogicalPlan node) {
                return true;
            }

            @Override
            public <A extends LogicalPlan, B> B applyOrElse(A node, Function1<A, B> other) {
                @SuppressWarnings("unchecked")
                B replaced = (B) replace(node).orElse(node);
                return replaced;
            }
        });
    }
}
