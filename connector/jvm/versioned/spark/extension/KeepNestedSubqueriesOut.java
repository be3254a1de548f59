package versioned.spark.extension;

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceData;
import org.apache.spark.sql.catalyst.rules.Rule;
import scala.Option;

/**
 * Lets the source of a MERGE have correlated subqueries. Spark makes a runtime filter of the source, which it can't run if
 * there is a subquery inside; without the filter, all segments are read.
 */
public final class KeepNestedSubqueriesOut extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        if (!(plan instanceof ReplaceData)) {
            return plan;
        }
        for (int i = 0; i < plan.productArity(); i++) {
            if (plan.productElement(i) instanceof Option<?> filter && filter.isDefined()
                    && filter.get() instanceof Expression condition && nests(condition)) {
                return PlanRule.with(plan, i, Option.empty());
            }
        }
        return plan;
    }

    private static boolean nests(Expression expression) {
        return expression.exists(
            node -> node instanceof SubqueryExpression subquery && !((LogicalPlan) subquery.plan()).subqueriesAll().isEmpty());
    }
}
