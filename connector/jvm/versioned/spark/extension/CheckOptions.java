package versioned.spark.extension;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.catalog.VersionedTables;
import versioned.spark.internals.SparkCatalogs;
import versioned.spark.python.TableOptions;

/**
 * Refuses misspelled options of a write before Spark compares the rows with the table: with a misspelled
 * {@code mergeSchema}, Spark would complain of the columns that it should have added.
 */
public final class CheckOptions extends PlanRule {
    private final SparkSession session;

    public CheckOptions(SparkSession session) {
        this.session = session;
    }

    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        if (node instanceof V2WriteCommand write) {
            CaseInsensitiveStringMap options = SparkCatalogs.writeOptions(node);
            if (!options.isEmpty()) {
                target((LogicalPlan) write.table()).ifPresent(table -> TableOptions.check(table, options));
            }
        }
        return Optional.empty();
    }

    private Optional<String> target(LogicalPlan target) {
        if (target instanceof DataSourceV2Relation loaded && loaded.table() instanceof VersionedTable table) {
            return Optional.of(table.name());
        }
        if (!(target instanceof UnresolvedRelation relation)) {
            return Optional.empty();
        }
        List<String> parts = CollectionConverters.asJava(relation.multipartIdentifier());
        return VersionedTables.find(session, parts).map(named -> String.join(".", parts));
    }
}
