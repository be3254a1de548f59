package versioned.spark.internals;

import java.util.Optional;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Function1;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/** A check of views that Spark makes in sessions without Hive. */
public final class SparkViews {
    private static final String CHECK = "org.apache.spark.sql.execution.command.CheckViewReferences$";

    private SparkViews() {}

    /**
     * Spark's check that a permanent view does not read temporary views, functions or variables. Up to 4.3, sessions with Hive
     * lack it. In releases without it, this checks nothing.
     */
    public static Function1<LogicalPlan, BoxedUnit> checkReferences() {
        return check().orElse(new AbstractFunction1<>() {
            @Override
            public BoxedUnit apply(LogicalPlan plan) {
                return BoxedUnit.UNIT;
            }
        });
    }

    @SuppressWarnings("unchecked")
    private static Optional<Function1<LogicalPlan, BoxedUnit>> check() {
        try {
            return Optional.of((Function1<LogicalPlan, BoxedUnit>) Class.forName(CHECK).getField("MODULE$").get(null));
        } catch (ReflectiveOperationException e) {
            return Optional.empty();
        }
    }
}
