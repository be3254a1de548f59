package versioned.spark.extension;

import java.util.Optional;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;

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
        if (isCommand(plan) && DetectSelfReads.tables(plan).findAny().isEmpty()) {
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
}
