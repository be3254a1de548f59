package versioned.spark.extension;

import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import versioned.spark.catalog.VersionedTable;

/**
 * Lets a DELETE delete all rows of a table with a CHAR column. Spark pads CHARs when it reads a table, and then can't delete
 * from the projection that pads them.
 */
public final class DeleteAllRows extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        boolean isPadded = plan instanceof DeleteFromTable delete && delete.condition().equals(Literal.TrueLiteral())
            && delete.table() instanceof Project padded && padded.child() instanceof DataSourceV2Relation relation
            && relation.table() instanceof VersionedTable;
        if (!isPadded) {
            return plan;
        }
        LogicalPlan relation = ((Project) ((DeleteFromTable) plan).table()).child();
        return PlanRule.with(plan, 0, relation);
    }
}
