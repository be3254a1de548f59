package versioned.spark.extension;

import java.util.Optional;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.InternalOutputModes;
import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.python.Condition;

/**
 * Refuses a stream in the output mode {@code update} into a table without a key when it is started. Spark asks for what its
 * write builder can do only at the first epoch, and says no more than {@code requirement failed}.
 */
public final class CheckOutputMode extends PlanRule {
    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        if (node instanceof WriteToStreamStatement stream && stream.outputMode() == InternalOutputModes.Update$.MODULE$
            && stream.sink() instanceof VersionedTable table && !table.isKeyed()) {
            throw Condition.NOT_SUPPORTED.error(table.name() + " has no primary key, so a stream in the output mode update "
                + "has no rows to replace; use outputMode append, or complete, which replaces all rows in each epoch; "
                + "drop " + table.name() + " if this stream has just created it, create it with a primary key, and start again");
        }
        return Optional.empty();
    }
}
