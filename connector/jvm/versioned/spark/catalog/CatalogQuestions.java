package versioned.spark.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import versioned.spark.python.Commits;
import versioned.spark.python.Python;

/** What a catalog asks, and its answers as Spark's own errors where a name is missing or taken. */
public final class CatalogQuestions {
    private static final Logger LOG = LoggerFactory.getLogger(CatalogQuestions.class);
    private static final Set<String> COMMITTING = Set.of("create", "alter", "drop", "rename", "create_namespace",
        "alter_namespace", "drop_namespace", "put_view", "drop_view", "rename_view");

    private final String catalog;
    private final String warehouse;
    private final Map<String, String> storage;

    /**
     * @param catalog the catalog's name in Spark
     * @param warehouse the folder where its tables are
     * @param storage what the file system is opened with; never shown
     */
    public CatalogQuestions(String catalog, String warehouse, Map<String, String> storage) {
        this.catalog = catalog;
        this.warehouse = warehouse;
        this.storage = Map.copyOf(storage);
    }

    /** The catalog's name. */
    public String catalog() {
        return catalog;
    }

    private ObjectNode request() {
        ObjectNode request = Python.JSON.createObjectNode();
        ObjectNode where = request.putObject("catalog").put("name", catalog).put("warehouse", warehouse);
        where.set("storage", Python.JSON.valueToTree(storage));
        return request;
    }

    /** A request about a namespace. */
    public ObjectNode request(String[] namespace) {
        ObjectNode request = request();
        request.set("namespace", Python.JSON.valueToTree(namespace));
        return request;
    }

    /** A request about a table. */
    public ObjectNode request(Identifier ident) {
        ObjectNode request = request();
        request.set("name", nameOf(ident));
        return request;
    }

    /** A request that gives a table or a view another name. */
    public ObjectNode request(Identifier from, Identifier to) {
        ObjectNode request = request(from);
        request.set("new_name", nameOf(to));
        return request;
    }

    private static ArrayNode nameOf(Identifier ident) {
        ArrayNode name = Python.JSON.valueToTree(ident.namespace());
        return name.add(ident.name());
    }

    /** A request that makes a table. */
    public ObjectNode declaration(Identifier ident, TableInfo info) {
        ObjectNode request = request(ident);
        request.set("columns", Columns.json(info.columns()));
        request.set("partitioning", Transforms.json(info.partitions()));
        request.set("constraints", Constraints.json(info.constraints()));
        info.properties().forEach(request.putObject("properties")::put);
        return request.put("default_provider", SQLConf.get().defaultDataSourceName());
    }

    /** A request that changes a table. */
    public ObjectNode alteration(Identifier ident, TableChange[] changes) throws NoSuchTableException {
        boolean setsDefault = Stream.of(changes).anyMatch(TableChange.UpdateColumnDefaultValue.class::isInstance);
        StructType schema = setsDefault ? load(ident, request(ident), false).schema() : new StructType();
        ObjectNode request = request(ident);
        request.set("changes", Changes.json(changes, schema));
        return request;
    }

    /** Asks Python; what commits is settled if an answer is lost. */
    public JsonNode ask(String question, ObjectNode request) {
        return COMMITTING.contains(question) ? Commits.ask(question, request) : Python.ask(question, request);
    }

    /** See {@link #askOfNamespace(String, String[], ObjectNode)}. */
    public JsonNode askOfNamespace(String question, String[] namespace) throws NoSuchNamespaceException {
        return askOfNamespace(question, namespace, request(namespace));
    }

    /** Asks what only a namespace that is there can answer. */
    public JsonNode askOfNamespace(String question, String[] namespace, ObjectNode request)
            throws NoSuchNamespaceException {
        JsonNode answer = ask(question, request);
        if (answer.path("missing_namespace").asBoolean()) {
            throw new NoSuchNamespaceException(namespace);
        }
        return answer;
    }

    /** Asks what only a table that is there can answer: the answer's description of it. */
    public JsonNode loaded(Identifier ident, String question, ObjectNode request) throws NoSuchTableException {
        return found(ident, ask(question, request));
    }

    private static JsonNode found(Identifier ident, JsonNode answer) throws NoSuchTableException {
        if (answer.path("missing").asBoolean()) {
            throw new NoSuchTableException(ident);
        }
        warn(answer);
        return answer.get("loaded");
    }

    private static void warn(JsonNode answer) {
        answer.path("warnings").forEach(warning -> LOG.warn(warning.asText()));
    }

    /**
     * A table, or what it tells of itself.
     *
     * @param request of the question {@code load}
     * @param past whether a version was asked for
     */
    public Table load(Identifier ident, ObjectNode request, boolean past) throws NoSuchTableException {
        return tableOf(loaded(ident, "load", request), past);
    }

    /** The table of an answer to {@code load_relation}, at its newest version. */
    public Table relation(Identifier ident, JsonNode answer) throws NoSuchTableException {
        return tableOf(found(ident, answer), false);
    }

    private static Table tableOf(JsonNode loaded, boolean past) {
        if (loaded.has("hides")) {
            LOG.warn(loaded.get("hides").asText());
        }
        if (loaded.has("metadata")) {
            return MetadataTable.of(loaded);
        }
        return past ? VersionedTable.past(loaded) : VersionedTable.newest(loaded);
    }

    /** Asks for a table that must not be there yet. */
    public JsonNode created(Identifier ident, String question, ObjectNode request)
            throws TableAlreadyExistsException, NoSuchNamespaceException {
        JsonNode answer = askOfNamespace(question, ident.namespace(), request);
        if (answer.path("exists").asBoolean()) {
            throw new TableAlreadyExistsException(ident);
        }
        return answer.get("loaded");
    }

    /** Asks for a table that may be there or not. */
    public JsonNode replaced(Identifier ident, String question, ObjectNode request) throws NoSuchNamespaceException {
        return askOfNamespace(question, ident.namespace(), request).get("loaded");
    }

    /** Gives a table another name. */
    public void rename(Identifier from, Identifier to) throws NoSuchTableException, TableAlreadyExistsException {
        JsonNode answer = ask("rename", request(from, to));
        if (answer.path("missing").asBoolean()) {
            throw new NoSuchTableException(from);
        }
        if (answer.path("exists").asBoolean()) {
            throw new TableAlreadyExistsException(to);
        }
        warn(answer);
    }

    /** The texts of a JSON array. */
    public static String[] parts(JsonNode array) {
        return StreamSupport.stream(array.spliterator(), false).map(JsonNode::asText).toArray(String[]::new);
    }

    /** The texts of a JSON object. */
    public static Map<String, String> texts(JsonNode object) {
        return TableRef.map(object);
    }
}
