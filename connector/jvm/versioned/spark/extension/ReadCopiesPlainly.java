package versioned.spark.extension;

import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import versioned.spark.catalog.RowChange;

/**
 * Lets a DELETE or UPDATE compare its rows with a correlated subquery by something else than equality. Spark then joins the
 * subquery with a copy of the rows to change, and mistakes the copy for rows to change. The copy becomes a plain read of the
 * same snapshot.
 */
public final class ReadCopiesPlainly extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        return plan instanceof V2WriteCommand write && write.table() instanceof DataSourceV2Relation target
                && target.table() instanceof RowLevelOperationTable rows && rows.operation() instanceof RowChange
            ? (LogicalPlan) plan.mapChildren(child -> once((LogicalPlan) child, rows)) : plan;
    }

    /** The rows to change are on the left of a join with a subquery. */
    private static LogicalPlan once(LogicalPlan plan, RowLevelOperationTable rows) {
        if (plan instanceof Join join && reads(join.left(), rows) && reads(join.right(), rows)) {
            return (LogicalPlan) join.mapChildren(
                child -> child == join.left() ? once(join.left(), rows) : plain((LogicalPlan) child, rows));
        }
        return (LogicalPlan) plan.mapChildren(child -> once((LogicalPlan) child, rows));
    }

    private static boolean reads(LogicalPlan plan, RowLevelOperationTable rows) {
        return plan.exists(node -> isOf(node, rows));
    }

    private static LogicalPlan plain(LogicalPlan plan, RowLevelOperationTable rows) {
        return isOf(plan, rows)
            ? PlanRule.with(plan, 0, ((RowChange) rows.operation()).table())
            : (LogicalPlan) plan.mapChildren(child -> plain((LogicalPlan) child, rows));
    }

    private static boolean isOf(LogicalPlan plan, RowLevelOperationTable rows) {
        return plan instanceof DataSourceV2Relation relation && relation.table() == rows;
    }
}
