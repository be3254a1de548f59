package versioned.spark.extension;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.RowOrdering;
import org.apache.spark.sql.catalyst.expressions.UserDefinedExpression;
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys;
import org.apache.spark.sql.catalyst.plans.LeftSemi$;
import org.apache.spark.sql.catalyst.plans.RightOuter$;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Range;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.internal.SQLConf;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.catalog.DeltaChange;
import versioned.spark.catalog.VersionedTable;

/**
 * Lets a MERGE with a small source shuffle only the rows of the table that match. Spark joins all rows of the table with the
 * source, and can't broadcast the source of an outer join. A semi-join before it can, and keeps the rows that match.
 *
 * <p>Both joins read one exchange. If they did not, a source that changes from one reading to the next could match a row in
 * the outer join that the semi-join has left out, and insert it again. So nothing may be pushed into one of the two copies of
 * the exchange, and the source has only parts that Spark knows to be equal.
 */
public final class ShuffleMatchingRows extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        SQLConf conf = SQLConf.get();
        return plan instanceof V2WriteCommand write && write.table() instanceof DataSourceV2Relation target
                && target.table() instanceof RowLevelOperationTable table && table.operation() instanceof DeltaChange change
                && conf.exchangeReuseEnabled() && conf.autoBroadcastJoinThreshold() > 0
            ? (LogicalPlan) plan.mapChildren(
                child -> reduced((LogicalPlan) child, table, change.table().rows(), conf.autoBroadcastJoinThreshold()))
            : plan;
    }

    private static LogicalPlan reduced(LogicalPlan plan, RowLevelOperationTable table, long rows, long limit) {
        if (plan instanceof Join join && join.joinType().equals(RightOuter$.MODULE$) && join.condition().isDefined()
                && reads(join.left(), table)) {
            boolean isLarge = (double) rows * join.left().schema().defaultSize() > limit;
            return isLarge && isShareable(join.right()) && size(join.right()) <= limit ? matching(join).orElse(plan) : plan;
        }
        return (LogicalPlan) plan.mapChildren(child -> reduced((LogicalPlan) child, table, rows, limit));
    }

    private static boolean reads(LogicalPlan plan, RowLevelOperationTable table) {
        return plan.exists(node -> node instanceof DataSourceV2Relation relation && relation.table() == table);
    }

    /** Whether two copies of a source are certainly one for Spark, and can be partitioned by all columns. */
    private static boolean isShareable(LogicalPlan source) {
        return source.subqueriesAll().isEmpty() && leaves(source).stream().allMatch(ShuffleMatchingRows::isComparable)
            && columns(source).stream().allMatch(column -> RowOrdering.isOrderable(column.dataType()));
    }

    private static boolean isComparable(LogicalPlan leaf) {
        return leaf instanceof LocalRelation || leaf instanceof Range || leaf instanceof OneRowRelation
            || leaf instanceof LogicalRDD || leaf instanceof InMemoryRelation || isVersioned(leaf)
            || leaf instanceof LogicalRelation files && files.relation() instanceof HadoopFsRelation relation
                && relation.bucketSpec().isEmpty() && relation.partitionSchema().isEmpty();
    }

    private static boolean isVersioned(LogicalPlan leaf) {
        return leaf instanceof DataSourceV2Relation relation && relation.table() instanceof VersionedTable;
    }

    /** The bytes that a source has by Spark's estimate; of our tables, which it would have to plan for that, all rows. */
    private static double size(LogicalPlan source) {
        List<LogicalPlan> leaves = leaves(source);
        return leaves.stream().noneMatch(ShuffleMatchingRows::isVersioned)
            ? source.stats().sizeInBytes().doubleValue()
            : leaves.stream().mapToDouble(leaf -> isVersioned(leaf)
                ? (double) ((VersionedTable) ((DataSourceV2Relation) leaf).table()).rows() * leaf.schema().defaultSize()
                : leaf.stats().sizeInBytes().doubleValue()).sum();
    }

    private static List<LogicalPlan> leaves(LogicalPlan plan) {
        return CollectionConverters.asJava(plan.collectLeaves());
    }

    private static List<Attribute> columns(LogicalPlan plan) {
        return CollectionConverters.asJava(plan.output());
    }

    /**
     * The join with a semi-join before it; empty if its condition has no equality. The semi-join has the conditions that
     * compare both sides: Spark would push others into the source. The exchange is by all columns, so that neither join
     * prunes them, and by a constant, so that the outer join never takes it for an exchange of its own.
     */
    private static Optional<LogicalPlan> matching(Join join) {
        LogicalPlan source = shared(join.right());
        return conjuncts(join.condition().get()).filter(condition -> compares(condition, join)).reduce(And::new)
            .map(on -> new Join(join.left(), source, LeftSemi$.MODULE$, Option.apply(on), JoinHint.NONE()))
            .filter(semi -> ExtractEquiJoinKeys.unapply(semi).isDefined())
            .map(semi -> new Join(semi, source, join.joinType(), join.condition(), join.hint()));
    }

    private static LogicalPlan shared(LogicalPlan source) {
        List<Expression> by = new ArrayList<>(columns(source));
        by.add(Literal.TrueLiteral());
        return new RepartitionByExpression(
            CollectionConverters.asScala(by).toSeq(), source, Option.empty(), Option.empty());
    }

    private static Stream<Expression> conjuncts(Expression condition) {
        return condition instanceof And and
            ? Stream.concat(conjuncts(and.left()), conjuncts(and.right())) : Stream.of(condition);
    }

    /** Whether a condition reads both sides, and no function of a user, which would be called twice for a row. */
    private static boolean compares(Expression condition, Join join) {
        return !condition.references().intersect(join.left().outputSet()).isEmpty()
            && !condition.references().intersect(join.right().outputSet()).isEmpty()
            && !condition.exists(node -> node instanceof UserDefinedExpression);
    }
}
