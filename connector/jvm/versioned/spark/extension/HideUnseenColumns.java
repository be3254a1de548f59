package versioned.spark.extension;

import java.util.Optional;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.plans.logical.DescribeRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ShowCreateTable;
import org.apache.spark.sql.catalyst.plans.logical.ShowTableProperties;
import versioned.spark.catalog.VersionedTable;

/**
 * Leaves the metadata columns that only statements use out of DESCRIBE EXTENDED, and the properties that only listeners read out of
 * what shows properties.
 */
public final class HideUnseenColumns extends PlanRule {
    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        if (node instanceof DescribeRelation && node.productElement(0) instanceof ResolvedTable resolved
                && resolved.table() instanceof VersionedTable table && table.described() != table) {
            LogicalPlan shown = with(resolved, 2, table.described());
            return Optional.of(with(node, 0, shown));
        }
        if ((node instanceof ShowTableProperties || node instanceof ShowCreateTable)
                && node.productElement(0) instanceof ResolvedTable resolved
                && resolved.table() instanceof VersionedTable table && table.forPeople() != table) {
            return Optional.of(with(node, 0, with(resolved, 2, table.forPeople())));
        }
        return Optional.empty();
    }
}
