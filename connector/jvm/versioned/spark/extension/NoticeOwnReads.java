package versioned.spark.extension;

import java.util.Collection;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;
import versioned.spark.catalog.RowChange;
import versioned.spark.catalog.VersionedTable;

/**
 * Notices that a statement reads the table that it writes to beside the rows that it changes: in a subquery, or as a
 * source. Under serializable isolation, what it writes then depends on every row of the table.
 */
public final class NoticeOwnReads extends AbstractFunction1<LogicalPlan, BoxedUnit> {
    /** Looks at an analysed plan: the optimizer answers some subqueries at once, and no trace of them is left. */
    @Override
    public BoxedUnit apply(LogicalPlan plan) {
        if (plan instanceof V2WriteCommand change && tableOf(change.table()) instanceof RowLevelOperationTable rows
                && rows.operation() instanceof RowChange operation && reads(change.query(), operation.table())) {
            operation.readsAll();
        }
        if (plan instanceof V2WriteCommand write && tableOf(write.table()) instanceof VersionedTable table
                && reads(write.query(), table)) {
            table.readsAll();
        }
        return BoxedUnit.UNIT;
    }

    private static Table tableOf(Object relation) {
        return relation instanceof DataSourceV2Relation found ? found.table() : null;
    }

    private static boolean reads(LogicalPlan plan, VersionedTable table) {
        return tableOf(plan) instanceof VersionedTable other && other.ref().uuid().equals(table.ref().uuid())
            || reads(CollectionConverters.asJava(plan.children()), table)
            || reads(CollectionConverters.asJava(plan.subqueries()), table);
    }

    private static boolean reads(Collection<LogicalPlan> plans, VersionedTable table) {
        return plans.stream().anyMatch(plan -> reads(plan, table));
    }
}
