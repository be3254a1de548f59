package versioned.spark.python;

/**
 * Errors of ours out of Spark's own way to run Python. Spark keeps their text, and puts an error of its own around it.
 */
public final class PythonErrors {
    /** What may fail in Python. */
    @FunctionalInterface
    public interface Act<T> {
        /** Does it. */
        T run() throws Exception;
    }

    /** What may fail in Python, and gives nothing. */
    @FunctionalInterface
    public interface Step {
        /** Does it. */
        void run() throws Exception;
    }

    private PythonErrors() {}

    /** The result of an act; its failure is thrown as the error of ours that it is about, if it is about one. */
    public static <T> T shown(Act<T> act) {
        try {
            return act.run();
        } catch (Exception e) {
            throw VersionedException.<RuntimeException>unchecked(VersionedException.unwrap(e));
        }
    }

    /** Does a step, and throws its failure as {@link #shown} does. */
    public static void show(Step step) {
        shown(() -> {
            step.run();
            return null;
        });
    }
}
