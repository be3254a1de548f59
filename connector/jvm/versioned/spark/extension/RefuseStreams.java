package versioned.spark.extension;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.python.Condition;

/** Refuses a stream that writes to a table by its name, and says what to do instead. */
public final class RefuseStreams extends AbstractFunction1<LogicalPlan, BoxedUnit> {
    @Override
    public BoxedUnit apply(LogicalPlan plan) {
        if (plan.getClass().getSimpleName().startsWith("WriteToStream")) {
            for (int i = 0; i < plan.productArity(); i++) {
                if (plan.productElement(i) instanceof VersionedTable table) {
                    throw Condition.NOT_SUPPORTED.error(table.name() + ": a stream can't write to a table by its name "
                        + "yet; write each batch with writeStream.foreachBatch(lambda rows, batch: "
                        + "rows.writeTo(\"" + table.name() + "\").append())");
                }
            }
        }
        return BoxedUnit.UNIT;
    }
}
