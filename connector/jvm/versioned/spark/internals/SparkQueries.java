package versioned.spark.internals;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;

/** Spark's plans of queries. */
public final class SparkQueries {
    private SparkQueries() {}

    /** The analysed plan of a query; nothing is run. */
    public static LogicalPlan analyzed(SparkSession session, String query) {
        return ((Dataset<?>) session.sql(query)).queryExecution().analyzed();
    }
}
