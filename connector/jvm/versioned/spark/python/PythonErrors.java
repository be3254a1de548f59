package versioned.spark.python;

import java.util.concurrent.Callable;

/** Translates failures of Python code that Spark runs: Spark wraps versioned errors, of which it keeps the text. */
public final class PythonErrors {
    /** A call without a result that may fail in Python. */
    @FunctionalInterface
    public interface Action {
        /** Runs it. */
        void run() throws Exception;
    }

    private PythonErrors() {}

    /** The result of a call. If a versioned error is in its failure, that is thrown. */
    public static <T> T translated(Callable<T> call) {
        try {
            return call.call();
        } catch (Exception e) {
            throw VersionedException.<RuntimeException>unchecked(VersionedException.unwrap(e));
        }
    }

    /** Runs an action. See {@link #translated}. */
    public static void translate(Action action) {
        translated(() -> {
            action.run();
            return null;
        });
    }
}
