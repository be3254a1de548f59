package versioned.spark.python;

import org.apache.spark.QueryContext;
import org.apache.spark.sql.AnalysisException;
import scala.Option;

/** An error of ours as an error of Spark's: its message is what the user reads, in Python and SQL alike. */
public final class VersionedException extends AnalysisException {
    private final String kind;

    private VersionedException(String kind, String message) {
        super(message, Option.empty(), Option.empty(), Option.empty(), Option.empty(),
            scala.collection.immutable.Map$.MODULE$.empty(), new QueryContext[0]);
        this.kind = kind;
    }

    /** What the caller can do about it: not_found, exists, invalid, conflict, outcome_unknown, corrupt, ... */
    public String kind() {
        return kind;
    }

    /**
     * Throws the exception without declaring it, as Scala does.
     *
     * @return never; for {@code throw of(...)}
     */
    public static RuntimeException of(String kind, String message) {
        return unchecked(new VersionedException(kind, message));
    }

    /** Throws what is checked in Java and is not in Spark. */
    @SuppressWarnings("unchecked")
    public static <E extends Throwable> RuntimeException unchecked(Throwable error) throws E {
        throw (E) error;
    }
}
