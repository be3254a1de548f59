package versioned.spark.extension;

import java.util.Collection;
import java.util.Optional;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.catalog.VersionedTable;

/**
 * Records a statement before its names are resolved, so that it can be run again. Statements on DataFrames that are analysed
 * already are not recorded: these read the versions that they were analysed on, not the newest.
 */
public final class RecordStatement extends Rule<LogicalPlan> {
    private static final TreeNodeTag<LogicalPlan> STATEMENT = new TreeNodeTag<>("versioned.statement");

    /** The statement of a plan. */
    static Optional<LogicalPlan> of(LogicalPlan plan) {
        scala.Option<LogicalPlan> noted = plan.getTagValue(STATEMENT);
        return noted.isDefined() ? Optional.of(noted.get()) : Optional.empty();
    }

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        if (isCommand(plan) && !readsVersioned(plan)) {
            plan.setTagValue(STATEMENT, plan);
        }
        return plan;
    }

    /** Whether a node changes a table that it names. */
    private static boolean isCommand(LogicalPlan node) {
        return !node.resolved() && node.productArity() > 0 && isName(node.productElement(0))
            && !(node instanceof SubqueryAlias);
    }

    private static boolean isName(Object target) {
        return target instanceof UnresolvedRelation
            || target instanceof SubqueryAlias alias && isName(alias.child());
    }

    private static boolean readsVersioned(LogicalPlan plan) {
        return plan instanceof DataSourceV2Relation relation && relation.table() instanceof VersionedTable
            || readsVersioned(CollectionConverters.asJava(plan.children()))
            || readsVersioned(CollectionConverters.asJava(plan.subqueries()));
    }

    private static boolean readsVersioned(Collection<LogicalPlan> plans) {
        return plans.stream().anyMatch(RecordStatement::readsVersioned);
    }
}
