package versioned.spark.view;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.View;
import scala.jdk.javaapi.CollectionConverters;

/** The nodes of a query's plan, those of its subqueries too, but not those of views that it reads. */
final class PlanNodes {
    private PlanNodes() {}

    static List<LogicalPlan> of(LogicalPlan plan) {
        List<LogicalPlan> nodes = new ArrayList<>();
        add(plan, nodes);
        return nodes;
    }

    private static void add(LogicalPlan node, List<LogicalPlan> nodes) {
        nodes.add(node);
        if (node instanceof View) {
            return;
        }
        CollectionConverters.asJava(node.children()).forEach(child -> add(child, nodes));
        expressions(node).forEach(expression -> addSubqueries(expression, nodes));
    }

    private static void addSubqueries(Expression expression, List<LogicalPlan> nodes) {
        if (expression instanceof SubqueryExpression subquery) {
            add(subquery.plan(), nodes);
        }
        CollectionConverters.asJava(expression.children()).forEach(child -> addSubqueries(child, nodes));
    }

    /** What a node computes of its children. */
    static List<Expression> expressions(LogicalPlan node) {
        return CollectionConverters.asJava(node.expressions());
    }
}
