package versioned.spark.write;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import versioned.spark.catalog.CatalogQuestions;
import versioned.spark.catalog.TableRef;
import versioned.spark.internals.HadoopFolder;
import versioned.spark.python.Python;
import versioned.spark.python.Values;

/**
 * How segments are written: Python's answer, as it is.
 *
 * @param isNative whether Spark can write them
 * @param folder the table's; null where Spark can't reach it
 * @param prefix what the names of segments begin with
 * @param schema the columns by physical name, with IDs
 * @param ids IDs of elements, keys and values by their path in Parquet
 * @param footer what a file says of itself
 * @param targetBytes at which size a new segment is begun
 * @param partitioning what segments are split by
 * @param arrangement how Spark is to spread and sort the rows
 */
record WritePlan(boolean isNative, HadoopFolder folder, String prefix, StructType schema, Map<String, Integer> ids,
        Map<String, String> footer, long targetBytes, List<Part> partitioning, Arrangement arrangement) {

    private static final String DISTRIBUTION_MODE = "distributionMode";

    /**
     * One part of a partitioning.
     *
     * @param ordinals the way to the source: places in the row and in the structs in it
     */
    record Part(int[] ordinals, String transform, int size) implements Serializable {}

    /** @param filters what the rows to replace fulfil, as JSON, so that it is refused before any row is written; or null */
    static WritePlan ask(TableRef table, ObjectNode creation, LogicalWriteInfo info, JsonNode filters) {
        ObjectNode request = table.request();
        info.options().asCaseSensitiveMap().keySet().forEach(request.putArray("options")::add);
        request.put("distribution_mode", info.options().get(DISTRIBUTION_MODE));
        if (filters != null) {
            request.set("filters", filters);
        }
        request.set("schema", Values.type(info.schema()));
        request.put("lengths_checked", !SQLConf.get().charVarcharAsString());
        if (creation != null) {
            request.set("creation", creation);
        }
        return parse(table.files(), Python.ask("plan_write", request));
    }

    private static WritePlan parse(HadoopFolder folder, JsonNode answer) {
        Map<String, Integer> ids = new HashMap<>();
        answer.get("ids").fields().forEachRemaining(id -> ids.put(id.getKey(), id.getValue().asInt()));
        List<Part> parts = new ArrayList<>();
        answer.get("partitioning").forEach(part -> parts.add(new Part(Python.JSON.convertValue(part.get("ordinals"),
            int[].class), part.get("transform").asText(), part.path("size").asInt())));
        return new WritePlan(answer.get("native").asBoolean(), folder, answer.get("prefix").asText(),
            (StructType) Values.type(answer.get("schema")), ids, CatalogQuestions.texts(answer.get("footer")),
            answer.get("target_bytes").asLong(), parts, Arrangement.parse(answer.get("arrangement")));
    }
}
