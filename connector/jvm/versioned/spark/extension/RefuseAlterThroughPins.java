package versioned.spark.extension;

import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTable;
import org.apache.spark.sql.catalyst.plans.logical.AlterTableCommand;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.catalog.VersionedTables;
import versioned.spark.python.Condition;
import versioned.spark.python.SchemaOptions;

/**
 * Refuses ALTER TABLE in a session that sees the table in an earlier schema. Spark would look for the columns of now in the
 * schema of then. This must happen before Spark resolves names.
 */
public final class RefuseAlterThroughPins extends PlanRule {
    private final SparkSession session;

    public RefuseAlterThroughPins(SparkSession session) {
        this.session = session;
    }

    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        if (node instanceof AlterTableCommand alter && alter.table() instanceof UnresolvedTable table) {
            VersionedTables.find(session, table.multipartIdentifier()).filter(named -> SchemaOptions.label(named.catalog().name()) != null)
                .ifPresent(RefuseAlterThroughPins::check);
        }
        return Optional.empty();
    }

    private static void check(VersionedTables.Named named) {
        if (named.load().orElse(null) instanceof VersionedTable table && table.ref().seen() != null) {
            throw Condition.NOT_SUPPORTED.error(table.name() + " is seen in an earlier schema (" + table.ref().seen()
                + "), through which it can't be altered; unset " + SchemaOptions.labelKey(named.catalog().name())
                + " and alter the current schema");
        }
    }
}
