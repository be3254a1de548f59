package versioned.spark.extension;

import java.util.Collection;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceData;
import org.apache.spark.sql.catalyst.rules.Rule;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Lets a MERGE have a source with correlated subqueries. Spark makes a subquery of the source, to leave out segments
 * that hold no row to change, and can't run it if there is another one inside; without it, all segments are read.
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
                return (LogicalPlan) plan.makeCopy(PlanRule.with(plan, i, Option.empty()));
            }
        }
        return plan;
    }

    private static boolean nests(Expression expression) {
        if (expression instanceof SubqueryExpression subquery
                && !((LogicalPlan) subquery.plan()).subqueriesAll().isEmpty()) {
            return true;
        }
        Collection<Expression> children = CollectionConverters.asJava(expression.children());
        return children.stream().anyMatch(KeepNestedSubqueriesOut::nests);
    }
}
