package versioned.spark.extension;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.VersionedCatalog;
import versioned.spark.internals.SparkCatalogs;
import versioned.spark.internals.SparkPython;
import versioned.spark.internals.SparkSources;
import versioned.spark.python.Condition;
import versioned.spark.python.PythonErrors;
import versioned.spark.write.ShownTable;

/**
 * Shows errors of {@code format("versioned")}, a data source in Python, as what they are. Spark runs the data source
 * while it analyses a plan, and would show a traceback.
 */
public final class ShowErrors extends PlanRule {
    private static final String FORMAT = "versioned";

    private final SparkSession session;

    public ShowErrors(SparkSession session) {
        this.session = session;
    }

    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        refuseStreams(node);
        if (SparkSources.isUnresolved(node, FORMAT)) {
            return Optional.of(PythonErrors.shown(() -> SparkSources.resolve(session, node)));
        }
        if (node instanceof V2WriteCommand write && write.table() instanceof DataSourceV2Relation relation
                && SparkPython.isSource(relation.table(), FORMAT)) {
            return Optional.of((LogicalPlan) write.withNewTable(relation.copy(
                new ShownTable((SupportsWrite) relation.table()), relation.output(), relation.catalog(),
                relation.identifier(), relation.options(), relation.timeTravelSpec())));
        }
        return Optional.empty();
    }

    private void refuseStreams(LogicalPlan node) {
        if (SparkSources.isUnresolved(node, FORMAT) && node.isStreaming()) {
            throw noStream(SparkSources.paths(node), "spark.read");
        }
        if (node instanceof UnresolvedRelation relation && relation.isStreaming()) {
            List<String> name = CollectionConverters.asJava(relation.multipartIdentifier());
            Optional<SparkCatalogs.Named> found = SparkCatalogs.find(session, name);
            if (found.isPresent() && found.get().catalog() instanceof VersionedCatalog) {
                throw noStream(String.join(".", name), "spark.read.table");
            }
        }
    }

    private static RuntimeException noStream(String table, String instead) {
        throw Condition.NOT_SUPPORTED.error(table + " can't be read as a stream; use " + instead);
    }
}
