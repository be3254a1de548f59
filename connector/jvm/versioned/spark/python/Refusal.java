package versioned.spark.python;

import java.util.Locale;

/** An outcome of a request for which Spark has an exception of its own. */
public final class Refusal extends RuntimeException {
    /** Why a request was refused; see {@code connector/PROTOCOL.md}. */
    public enum Reason { MISSING, EXISTS, MISSING_NAMESPACE, NOT_EMPTY }

    private final Reason reason;

    Refusal(String reason) {
        super(reason, null, false, false);
        this.reason = Reason.valueOf(reason.toUpperCase(Locale.ROOT));
    }

    /** Why. */
    public Reason reason() {
        return reason;
    }
}
