package versioned.spark.internals;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;

/** How Spark runs statements, queries and streams. */
public final class SparkStatements {
    private static final String STREAM_WRITER = ".DataStreamWriter";

    private SparkStatements() {}

    /** Runs a statement as it was parsed, to its end. */
    public static void run(SparkSession session, LogicalPlan statement) {
        Dataset.ofRows((org.apache.spark.sql.classic.SparkSession) session, statement)
            .queryExecution().commandExecuted();
    }

    /** The analysed plan of a query; nothing is run. */
    public static LogicalPlan analyzed(SparkSession session, String query) {
        return ((Dataset<?>) session.sql(query)).queryExecution().analyzed();
    }

    /** Whether this thread starts a stream, and so looks for its target. The batches of a stream run in another thread. */
    public static boolean isStartingStream() {
        return StackWalker.getInstance().walk(frames -> frames.anyMatch(frame ->
            frame.getClassName().endsWith(STREAM_WRITER)));
    }
}
