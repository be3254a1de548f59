package versioned.spark.python;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.UUID;

/**
 * Commits whose outcome is settled, not guessed: a worker may die with its answer on the way. The commit's ID was made
 * here, so another worker can look whether it landed, and commit if it did not.
 */
public final class Commits {
    private static final int TRIES = 4;

    private Commits() {}

    /** Who a commit will be. */
    public static String newId() {
        return UUID.randomUUID().toString();
    }

    /**
     * Asks a question that commits, under the member {@code commit_id}; it is made here where there is none yet.
     *
     * @return the answer
     * @throws VersionedException (unchecked) if the commit was refused, or if nobody can tell whether it landed
     */
    public static JsonNode ask(String question, ObjectNode request) {
        if (!request.has("commit_id")) {
            request.put("commit_id", newId());
        }
        Exception last = null;
        for (int attempt = 0; attempt < TRIES; attempt++) {
            try {
                return Python.ask(question, request.put("retry", attempt > 0));
            } catch (Exception e) {
                if (e instanceof VersionedException told && !told.isOutcomeUnknown()) {
                    throw e;
                }
                last = e;
            }
        }
        throw Condition.COMMIT_OUTCOME_UNKNOWN.error("nobody can tell whether the commit "
            + request.get("commit_id").asText() + " landed, and it may still land; ask "
            + "Table.find_commit with this ID before it is tried again: " + last.getMessage());
    }
}
