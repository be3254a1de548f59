package versioned.spark.extension;

import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import versioned.spark.internals.SparkPython;
import versioned.spark.internals.SparkSources;
import versioned.spark.python.VersionedException;
import versioned.spark.write.TranslatingTable;

/**
 * Translates errors of {@code format("versioned")}, a Python data source, which Spark runs while it analyses a plan. Spark
 * would show a traceback.
 */
public final class TranslateErrors extends PlanRule {
    private final SparkSession session;

    public TranslateErrors(SparkSession session) {
        this.session = session;
    }

    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        if (SparkSources.isUnresolved(node) && !node.isStreaming()) {
            return Optional.of(VersionedException.translated(() -> SparkSources.resolve(session, node)));
        }
        if (node instanceof V2WriteCommand write && write.table() instanceof DataSourceV2Relation relation
                && SparkPython.isSource(relation.table())) {
            return Optional.of((LogicalPlan) write.withNewTable(relation.copy(
                new TranslatingTable((SupportsWrite) relation.table()), relation.output(), relation.catalog(),
                relation.identifier(), relation.options(), relation.timeTravelSpec())));
        }
        return Optional.empty();
    }
}
