package versioned.spark.python;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.lang.reflect.ParameterizedType;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import versioned.spark.internals.SparkPython.Frame;
import versioned.spark.internals.SparkPython;
import versioned.spark.protocol.*;
import versioned.spark.protocol.Message.CommittingRequest;
import versioned.spark.protocol.Message.Request;

/**
 * Sends requests to Python, which decides what tables are; the jar has no rules of its own about them. Each is logged, by its
 * name and what it is about, at the level DEBUG.
 */
public final class Python {
    private static final Logger LOG = LoggerFactory.getLogger(Python.class);

    private static final String WORKER = "pyspark_versioned.sql.worker";

    /** The type of the response to each type of request. */
    private static final ClassValue<Class<?>> RESPONSES = new ClassValue<>() {
        @Override
        protected Class<?> computeValue(Class<?> request) {
            return (Class<?>) ((ParameterizedType) request.getGenericInterfaces()[0]).getActualTypeArguments()[0];
        }
    };

    private static volatile boolean handshaken;

    private Python() {}

    private record Envelope(String request, Object body, @JsonInclude(JsonInclude.Include.NON_NULL) Commit commit,
        @JsonInclude(JsonInclude.Include.NON_NULL) String trace) {}

    /**
     * Sends a request that commits nothing.
     *
     * @return the response
     * @throws VersionedException (unchecked, though Spark's analysis errors are checked) if the response is an error
     * @throws Refusal if Spark has an exception of its own for the outcome
     */
    public static <R> R send(Request<R> request) {
        if (request instanceof CommittingRequest) {
            throw new IllegalArgumentException(request + " commits; send it through Commits");
        }
        return send(request, null);
    }

    /** Sends a request. See {@link #send(Request)}. */
    static <R> R send(Request<R> request, Commit commit) {
        shakeHands();
        return exchange(request, commit);
    }

    /** Checks the protocol first, with a request that commits nothing: a commit that Python can't have seen has not landed. */
    private static void shakeHands() {
        if (handshaken) {
            return;
        }
        try {
            exchange(new Handshake(Protocol.VERSION), null);
        } catch (RuntimeException e) {
            throw Condition.PYTHON_UNREACHABLE.error("Python does not respond to requests about versioned tables: where Spark "
                + "is started, export PYSPARK_PYTHON as the path of a Python that has pyspark_versioned (" + e.getMessage()
                + ")");
        }
        handshaken = true;
    }

    private static <R> R exchange(Request<R> request, Commit commit) {
        String name = Codec.nameOf(request.getClass());
        List<byte[]> attachments = new ArrayList<>();
        String text = Codec.text(new Envelope(name, request, commit, SparkPython.traceParent()), attachments);
        if (LOG.isDebugEnabled()) {
            LOG.debug("{} {}", name, subject(Codec.tree(text).path("body")));
        }
        Frame response = SparkPython.exchange(WORKER, new Frame(text, attachments));
        return parse(Codec.tree(response.json()), response.attachments(), request, "the response to " + name);
    }

    /** The name of what a request is about; a missing node if it has none. A request has secrets as well. */
    private static JsonNode subject(JsonNode body) {
        return Stream.of("/table/name", "/table", "/write/table/name", "/creation/declaration/name", "/declaration/name",
            "/name", "/namespace").map(body::at).filter(node -> node.isTextual() || node.isArray()).findFirst()
            .orElse(MissingNode.getInstance());
    }

    @SuppressWarnings("unchecked")
    private static <R> R parse(JsonNode json, List<byte[]> attachments, Request<R> request, String what) {
        if (json.has("error")) {
            throw VersionedException.<RuntimeException>unchecked(
                new VersionedException(Codec.parse(json.get("error"), Failure.class, attachments, what)));
        }
        if (json.has("refused")) {
            throw new Refusal(json.get("refused").asText());
        }
        return (R) Codec.parse(json.path("response"), RESPONSES.get(request.getClass()), attachments, what);
    }
}
