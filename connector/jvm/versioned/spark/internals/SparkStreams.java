package versioned.spark.internals;

/** What Spark does not say about streams. */
public final class SparkStreams {
    private static final String WRITER = "DataStreamWriter";

    private SparkStreams() {}

    /**
     * Whether this thread starts a stream, and so asks for its target. The batches of a stream run in a thread of their
     * own.
     */
    public static boolean isStarting() {
        return StackWalker.getInstance().walk(frames -> frames.anyMatch(frame ->
            frame.getClassName().endsWith("." + WRITER)));
    }
}
