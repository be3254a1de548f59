package versioned.spark.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.Serializable;
import java.util.Map;
import java.util.TreeMap;
import versioned.spark.internals.HadoopFolder;
import versioned.spark.python.Python;

/**
 * Which table, at which version; a question's member {@code table}.
 *
 * @param location the table's folder
 * @param storage what its file system is opened with; may hold secrets, so it is never shown
 * @param files the folder as Hadoop reaches it; null where it can't be told how
 * @param name the table as users call it
 * @param uuid which life of the table
 * @param version of the snapshot
 * @param pending changes of the schema that a statement brings along, as JSON; they are committed with its rows
 */
public record TableRef(String location, Map<String, String> storage, HadoopFolder files, String name, String uuid,
        long version, String pending) implements Serializable {

    static TableRef parse(JsonNode json) {
        return new TableRef(json.get("location").asText(), map(json.get("storage")), folder(json.get("hadoop")),
            json.get("name").asText(), json.get("uuid").asText(), json.get("version").asLong(),
            json.get("pending").toString());
    }

    private static HadoopFolder folder(JsonNode json) {
        return json.isNull() ? null : new HadoopFolder(json.get("url").asText(), map(json.get("conf")));
    }

    /** Whether Spark itself can read and write the table's files. */
    public boolean isReachable() {
        return files != null && files.isReachable();
    }

    /** The reference as it is sent to Python. */
    public ObjectNode json() {
        ObjectNode json = Python.JSON.createObjectNode();
        json.put("location", location).put("name", name).put("uuid", uuid).put("version", version);
        json.set("storage", Python.JSON.valueToTree(storage));
        json.set("pending", Python.parse(pending));
        return json;
    }

    /** A request about this table. */
    public ObjectNode request() {
        ObjectNode request = Python.JSON.createObjectNode();
        request.set("table", json());
        return request;
    }

    @Override
    public String toString() {
        return name + " version " + version;
    }

    static Map<String, String> map(JsonNode json) {
        Map<String, String> map = new TreeMap<>();
        json.fields().forEachRemaining(member -> map.put(member.getKey(), member.getValue().asText()));
        return map;
    }
}
