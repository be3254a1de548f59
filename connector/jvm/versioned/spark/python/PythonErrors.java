package versioned.spark.python;

/** Translates failures of Python code that Spark runs: Spark wraps versioned errors, of which it keeps the text. */
public final class PythonErrors {
    /** A call that may fail in Python. */
    @FunctionalInterface
    public interface Call<T> {
        /** Runs it. */
        T run() throws Exception;
    }

    /** A call without a result. */
    @FunctionalInterface
    public interface Action {
        /** Runs it. */
        void run() throws Exception;
    }

    private PythonErrors() {}

    /** The result of a call. If a versioned error is in its failure, that is thrown. */
    public static <T> T translated(Call<T> call) {
        try {
            return call.run();
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
