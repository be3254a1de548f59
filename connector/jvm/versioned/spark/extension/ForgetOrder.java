package versioned.spark.extension;

import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import scala.Option;
import scala.collection.Seq;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.internals.SparkCatalogs;

/**
 * Lets Spark read a table once for several subqueries, which it does not do for scans that report how their rows are sorted.
 * Scans that report partition values, which it does not merge either, keep their order: joins without a shuffle need it.
 */
public final class ForgetOrder extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        Set<Table> once = new HashSet<>();
        Set<Table> repeated = new HashSet<>();
        note(plan, once, repeated);
        CollectionConverters.asJava(plan.subqueriesAll()).forEach(subquery -> note(subquery, once, repeated));
        return repeated.isEmpty() ? plan : plan.transformUpWithSubqueries(PlanRule.replacing(node -> sorted(node)
            .filter(scan -> repeated.contains(scan.relation().table()))
            .map(scan -> PlanRule.with(scan, place(scan), Option.empty()))));
    }

    private static void note(LogicalPlan plan, Set<Table> once, Set<Table> repeated) {
        plan.foreach(node -> {
            sorted(node).map(scan -> scan.relation().table()).filter(table -> !once.add(table)).ifPresent(repeated::add);
            return null;
        });
    }

    /** A scan that reports an order, and no partition values. */
    private static Optional<DataSourceV2ScanRelation> sorted(LogicalPlan node) {
        return node instanceof DataSourceV2ScanRelation scan && scan.relation().table() instanceof VersionedTable
                && scan.ordering().exists(Seq::nonEmpty) && scan.keyGroupedPartitioning().forall(Seq::isEmpty)
            ? Optional.of(scan) : Optional.empty();
    }

    private static int place(DataSourceV2ScanRelation scan) {
        return SparkCatalogs.memberNamed(scan, "ordering").getAsInt();
    }
}
