package versioned.spark.internals;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;

/** How Spark runs a statement. */
public final class SparkStatements {
    private SparkStatements() {}

    /** Runs a statement as it was parsed, to its end. */
    public static void run(SparkSession session, LogicalPlan statement) {
        Dataset.ofRows((org.apache.spark.sql.classic.SparkSession) session, statement)
            .queryExecution().commandExecuted();
    }
}
