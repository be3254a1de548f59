package versioned.spark.internals;

import java.lang.reflect.Constructor;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import scala.collection.immutable.Seq;

/** How Spark finds the data source that {@code format(...)} names. */
public final class SparkSources {
    private static final String NODE = "UnresolvedDataSource";
    private static final String RULE = "org.apache.spark.sql.catalyst.analysis.ResolveDataSource";

    private SparkSources() {}

    /** Whether a node is a read of a format that Spark has not found yet. */
    public static boolean isUnresolved(LogicalPlan node, String format) {
        return node.nodeName().equals(NODE) && format.equalsIgnoreCase(String.valueOf(node.productElement(0)));
    }

    /** The paths that such a node names. */
    public static String paths(LogicalPlan node) {
        return ((Seq<?>) node.productElement(4)).mkString(", ");
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
