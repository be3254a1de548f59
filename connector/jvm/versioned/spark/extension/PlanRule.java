package versioned.spark.extension;

import java.util.Optional;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import scala.Function1;
import scala.Product;
import scala.runtime.AbstractPartialFunction;

/** A rule that replaces single nodes of a plan. */
abstract class PlanRule extends Rule<LogicalPlan> {
    /** The replacement of a node; empty to keep it. */
    abstract Optional<LogicalPlan> replace(LogicalPlan node);

    /** A node's members with one replaced; their number differs between releases of Spark. */
    static Object[] with(Product node, int place, Object member) {
        Object[] members = new Object[node.productArity()];
        for (int i = 0; i < members.length; i++) {
            members[i] = i == place ? member : node.productElement(i);
        }
        return members;
    }

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
