package versioned.spark.python;

import java.util.Map;
import java.util.UUID;
import versioned.spark.internals.SparkStatements;
import versioned.spark.protocol.Commit;
import versioned.spark.protocol.Message.CommittingRequest;

/**
 * Commits whose outcome is certain although a worker may die before it has responded. The jar chooses the commit ID, so
 * another worker can find out whether the commit landed, and commit if it did not.
 */
public final class Commits {
    private static final int TRIES = 4;

    private Commits() {}

    /** A new commit ID. */
    public static String newId() {
        return UUID.randomUUID().toString();
    }

    /** Sends a request that commits, under a new commit ID. */
    public static <R> R send(CommittingRequest<R> request) {
        return send(request, newId());
    }

    /**
     * Sends a request that commits.
     *
     * @return the response
     * @throws VersionedException (unchecked) if the commit was refused, or if it is unknown whether it landed
     */
    public static <R> R send(CommittingRequest<R> request, String id) {
        Map<String, String> author = SparkStatements.author();
        Exception last = null;
        for (int attempt = 0; attempt < TRIES; attempt++) {
            try {
                return Python.send(request, new Commit(id, attempt > 0, author));
            } catch (Exception e) {
                if (e instanceof Refusal || e instanceof VersionedException error && !error.isOutcomeUnknown()) {
                    throw e;
                }
                last = e;
            }
        }
        throw Condition.COMMIT_OUTCOME_UNKNOWN.error("it is unknown whether the commit " + id + " landed, and it may still "
            + "land; call Table.find_commit with this ID before you try again: " + last.getMessage());
    }
}
