package versioned.spark.internals;

import java.util.Optional;
import java.util.OptionalLong;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.types.StructType;

/** How Spark runs statements, queries and streams. */
public final class SparkStatements {
    private static final String STREAM_WRITER = ".DataStreamWriter";
    // Spark's StreamExecution.QUERY_ID_KEY and MicroBatchExecution.BATCH_ID_KEY, whose packages changed in Spark 4.1.
    private static final String QUERY = "sql.streaming.queryId";
    private static final String EPOCH = "streaming.sql.batchId";

    private SparkStatements() {}

    /** Runs a statement as it was parsed, to its end. */
    public static void run(SparkSession session, LogicalPlan statement) {
        Dataset.ofRows((org.apache.spark.sql.classic.SparkSession) session, statement)
            .queryExecution().commandExecuted();
    }

    /** The schema of a query, and nothing if Spark can't analyse it by itself: the whole statement tells why, or can. */
    public static Optional<StructType> schema(SparkSession session, LogicalPlan query) {
        if (query.resolved()) {
            return Optional.of(query.schema());
        }
        try {
            return Optional.of(Dataset.ofRows((org.apache.spark.sql.classic.SparkSession) session, query).schema());
        } catch (Exception e) {
            return Optional.empty();
        }
    }

    /** The analysed plan of a query; nothing is run. */
    public static LogicalPlan analyzed(SparkSession session, String query) {
        return ((Dataset<?>) session.sql(query)).queryExecution().analyzed();
    }

    /** Whether this thread starts a stream, and so looks for its target. The epochs of a stream run in another thread. */
    public static boolean isStartingStream() {
        return StackWalker.getInstance().walk(frames -> frames.anyMatch(frame ->
            frame.getClassName().endsWith(STREAM_WRITER)));
    }

    /**
     * The epoch of a stream that this thread plans; empty if it plans anything else, such as a write in foreachBatch.
     *
     * @param query ID of the query whose write it plans
     */
    public static OptionalLong epoch(String query) {
        SparkContext context = SparkSession.active().sparkContext();
        String epoch = context.getLocalProperty(EPOCH); // null in continuous processing, which has no micro-batches
        return epoch != null && query.equals(context.getLocalProperty(QUERY))
            ? OptionalLong.of(Long.parseLong(epoch)) : OptionalLong.empty();
    }
}
