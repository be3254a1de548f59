package versioned.spark.python;

import java.util.Locale;
import versioned.spark.protocol.Reason;

/** An outcome of a request for which Spark has an exception of its own. */
public final class Refusal extends RuntimeException {
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
