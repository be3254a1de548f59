package versioned.spark.internals;

import java.lang.reflect.Constructor;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;

/** How Spark finds the data source that {@code format(...)} names. */
public final class SparkSources {
    private static final String NODE = "UnresolvedDataSource";
    private static final String RULE = "org.apache.spark.sql.catalyst.analysis.ResolveDataSource";

    private SparkSources() {}

    /** Whether a node is a read of our format, whose data source Spark has not looked up yet. */
    public static boolean isUnresolved(LogicalPlan node) {
        return node.nodeName().equals(NODE) && SparkPython.FORMAT.equalsIgnoreCase(String.valueOf(node.productElement(0)));
    }

    /**
     * Finds the data source as Spark does; the node itself, if this release of Spark does so in another way.
     *
     * @throws Exception if the data source fails
     */
    @SuppressWarnings("unchecked")
    public static LogicalPlan resolve(SparkSession session, LogicalPlan node) throws Exception {
        Rule<LogicalPlan> rule;
        try {
            Constructor<?> constructor = Class.forName(RULE).getConstructors()[0];
            rule = (Rule<LogicalPlan>) constructor.newInstance(session);
        } catch (ReflectiveOperationException e) {
            return node;
        }
        return rule.apply(node);
    }
}
