package versioned.spark.internals;

/** Detects streams that Spark does not announce. */
public final class SparkStreams {
    private static final String WRITER = "DataStreamWriter";

    private SparkStreams() {}

    /**
     * Whether this thread starts a stream, and so looks for its target. The batches of a stream run in another thread.
     */
    public static boolean isStarting() {
        return StackWalker.getInstance().walk(frames -> frames.anyMatch(frame ->
            frame.getClassName().endsWith("." + WRITER)));
    }
}
