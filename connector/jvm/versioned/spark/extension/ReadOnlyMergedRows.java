package versioned.spark.extension;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.RowOrdering;
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys;
import org.apache.spark.sql.catalyst.plans.LeftSemi$;
import org.apache.spark.sql.catalyst.plans.RightOuter$;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.internal.SQLConf;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.catalog.DeltaChange;

/**
 * Lets a MERGE with a small source shuffle only the rows of the table that match. Spark joins the rows of the table, all of
 * them, with the source, and can't broadcast the source of an outer join. The rows are reduced by a semi-join before, which
 * can. Both joins read one exchange, so that a source that changes from one reading to the next is still read once.
 */
public final class ReadOnlyMergedRows extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        return plan instanceof V2WriteCommand write && write.table() instanceof DataSourceV2Relation target
                && target.table() instanceof RowLevelOperationTable rows && rows.operation() instanceof DeltaChange change
                && SQLConf.get().exchangeReuseEnabled()
            ? (LogicalPlan) plan.mapChildren(child -> reduced((LogicalPlan) child, rows, change.table().rows())) : plan;
    }

    private static LogicalPlan reduced(LogicalPlan plan, RowLevelOperationTable table, long rows) {
        return plan instanceof Join join && join.joinType().equals(RightOuter$.MODULE$) && reads(join.left(), table)
            ? worthwhile(join, rows) ? reduced(join) : plan
            : (LogicalPlan) plan.mapChildren(child -> reduced((LogicalPlan) child, table, rows));
    }

    private static boolean reads(LogicalPlan plan, RowLevelOperationTable table) {
        return plan.exists(node -> node instanceof DataSourceV2Relation relation && relation.table() == table);
    }

    /** Whether the source can be broadcast, and the table can't. The table is not planned for that. */
    private static boolean worthwhile(Join join, long rows) {
        long limit = SQLConf.get().autoBroadcastJoinThreshold();
        return (double) rows * join.left().schema().defaultSize() > limit
            && join.right().stats().sizeInBytes().doubleValue() <= limit
            && ExtractEquiJoinKeys.unapply(join).isDefined()
            && columns(join.right()).stream().allMatch(column -> RowOrdering.isOrderable(column.dataType()));
    }

    private static List<Attribute> columns(LogicalPlan plan) {
        return CollectionConverters.asJava(plan.output());
    }

    /** The exchange is by all columns of the source, so that neither join prunes it differently from the other. */
    private static LogicalPlan reduced(Join join) {
        List<Expression> all = List.copyOf(columns(join.right()));
        LogicalPlan source = new RepartitionByExpression(
            CollectionConverters.asScala(all).toSeq(), join.right(), Option.empty(), Option.empty());
        LogicalPlan matching = new Join(join.left(), source, LeftSemi$.MODULE$, join.condition(), JoinHint.NONE());
        return new Join(matching, source, join.joinType(), join.condition(), join.hint());
    }
}
