package versioned.spark.python;

import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.QueryContext;
import org.apache.spark.sql.AnalysisException;
import scala.Option;
import versioned.spark.protocol.Failure;

/**
 * A Python error as a Spark error, with a condition and a SQLSTATE. Spark shows users an error with a condition as it is,
 * even from a task; one without is a line in a stack trace.
 */
public final class VersionedException extends AnalysisException {
    /** A call without a result that may fail in Python. */
    @FunctionalInterface
    public interface Action {
        /** Runs it. */
        void run() throws Exception;
    }

    private static final String CONFLICT = "VERSIONED_COMMIT_CONFLICT";
    private static final String MISSING_VERSION = "VERSIONED_VERSION_NOT_FOUND";
    private static final Pattern SHOWN =
        Pattern.compile("\\[(VERSIONED_[A-Z_]+)] (.*?) SQLSTATE: ([0-9A-Z]{5})", Pattern.DOTALL);

    private final String condition;
    private final String sqlState;

    VersionedException(String condition, String sqlState, String message) {
        super(text(condition, sqlState, message), Option.empty(), Option.empty(), Option.empty(),
            Option.apply(condition), scala.collection.immutable.Map$.MODULE$.empty(), new QueryContext[0]);
        this.condition = condition;
        this.sqlState = sqlState;
    }

    VersionedException(Failure failure) {
        this(failure.condition(), failure.sqlstate(), failure.message());
    }

    /** The text of an error, as it is shown and found again. */
    static String text(String condition, String sqlState, String message) {
        return "[" + condition + "] " + message + (message.endsWith(".") ? "" : ".") + " SQLSTATE: " + sqlState;
    }

    /**
     * The versioned error in a failure: the failure itself, one of its causes, or an error that Python raised inside the
     * data source, of which Spark keeps the text.
     */
    public static Optional<VersionedException> find(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof VersionedException found) {
                return Optional.of(found);
            }
            Matcher shown = SHOWN.matcher(String.valueOf(cause.getMessage()));
            if (shown.find()) {
                return Optional.of(new VersionedException(shown.group(1), shown.group(3), shown.group(2)));
            }
        }
        return Optional.empty();
    }

    /** The result of a call that may fail in Python. If a versioned error is in its failure, that is thrown. */
    public static <T> T translated(Callable<T> call) {
        try {
            return call.call();
        } catch (Exception e) {
            throw VersionedException.<RuntimeException>unchecked(find(e).map(Throwable.class::cast).orElse(e));
        }
    }

    /** Runs an action. See {@link #translated}. */
    public static void translate(Action action) {
        translated(() -> {
            action.run();
            return null;
        });
    }

    /** Whether the commit lost to another one, and nothing was written. */
    public boolean isConflict() {
        return condition.equals(CONFLICT);
    }

    /** Whether it is unknown if the commit landed. */
    public boolean isOutcomeUnknown() {
        return condition.equals(Condition.COMMIT_OUTCOME_UNKNOWN.fullName());
    }

    /** Whether it is about a version, tag or branch that a table does not have. */
    public static boolean isMissingVersion(Exception failure) {
        return failure instanceof VersionedException found && found.condition.equals(MISSING_VERSION);
    }

    @Override
    public String getCondition() {
        return condition;
    }

    @Override
    public String getErrorClass() {
        return condition;
    }

    @Override
    public String getSqlState() {
        return sqlState;
    }

    /**
     * Throws what is checked in Java and is not in Spark.
     *
     * @return never; for {@code throw unchecked(...)}
     */
    @SuppressWarnings("unchecked")
    public static <E extends Throwable> RuntimeException unchecked(Throwable error) throws E {
        throw (E) error;
    }
}
