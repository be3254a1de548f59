package versioned.spark.python;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import versioned.spark.internals.SparkPython;

/** Asks Python, which knows what tables are; the jar itself holds no rule about them. */
public final class Python {
    public static final ObjectMapper JSON = new ObjectMapper();

    private static final String WORKER = "pyspark_versioned.sql.worker";

    private static volatile boolean reached;

    private Python() {}

    /**
     * Asks one question.
     *
     * @param question its name
     * @param request its members
     * @return the answer
     * @throws VersionedException (unchecked here, though Spark's analysis errors are checked ones) if the answer is
     *     an error that is told on purpose
     */
    public static JsonNode ask(String question, ObjectNode request) {
        JsonNode answer = exchange(question, request);
        if (answer.has("error")) {
            throw VersionedException.<RuntimeException>unchecked(VersionedException.parse(answer.get("error")));
        }
        return answer;
    }

    /** JSON from a text that we wrote. */
    public static JsonNode parse(String text) {
        try {
            return JSON.readTree(text);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Whoever asks first asks for nothing: a commit that nobody could have heard is not one that may have landed. */
    private static void reach() {
        if (reached) {
            return;
        }
        try {
            SparkPython.exchange(WORKER, "{\"question\": \"reach\"}");
        } catch (Exception e) {
            throw Condition.PYTHON_UNREACHABLE.error("no Python answers about versioned tables: where Spark is started, "
                + "export PYSPARK_PYTHON as the path of a Python that has pyspark_versioned (" + e.getMessage() + ")");
        }
        reached = true;
    }

    private static JsonNode exchange(String question, ObjectNode request) {
        reach();
        try {
            ObjectNode asked = request.deepCopy().put("question", question);
            return JSON.readTree(SparkPython.exchange(WORKER, JSON.writeValueAsString(asked)));
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("the answer to " + question + " is no JSON", e);
        }
    }
}
