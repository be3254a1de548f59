package versioned.spark.scan;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import versioned.spark.catalog.CatalogQuestions;
import versioned.spark.catalog.TableRef;
import versioned.spark.python.Predicates;
import versioned.spark.python.Python;
import versioned.spark.python.Values;

/**
 * Which segments a scan reads, and how: Python's answer, as it is.
 *
 * @param groups the ways of reading
 * @param segments what is read, in the table's order
 * @param live how many segments the snapshot has
 * @param layout the columns of the scan by which its segments are laid out
 */
record ScanPlan(List<Group> groups, List<Segment> segments, long live, List<String> layout) {

    /** One way of reading. */
    sealed interface Group permits NativeGroup, PythonGroup {}

    /** Left to Python. */
    record PythonGroup() implements Group {}

    /**
     * Left to Spark's Parquet reader.
     *
     * @param readSchema the columns in files, by physical name and ID
     * @param rowPosition whether the rows' positions are wanted, after those columns
     * @param constants columns that are the same for a whole segment, after these
     * @param order for each column of the result, its place in all of these
     * @param names physical names of the columns that Parquet may filter by
     */
    record NativeGroup(StructType readSchema, boolean rowPosition, List<ConstantColumn> constants, int[] order,
            Map<String, String[]> names) implements Group {}

    /**
     * A column that is the same for a whole segment.
     *
     * @param implicit the ID of an implicit column, or 0 where {@code value} is shown
     * @param value value text, or null
     */
    record ConstantColumn(String name, DataType type, int implicit, String value) {}

    /**
     * A segment, in its group.
     *
     * @param rowSequence of all rows of it; null where they have several
     */
    record Segment(int group, String path, int schemaVersion, long rows, long bytes, long sequence, long commitTime,
            Long rowSequence) {}

    static ScanPlan ask(TableRef table, StructType schema, List<Predicate> filters, Integer limit, boolean isNative) {
        ObjectNode request = table.request().put("limit", limit).put("native", isNative);
        request.set("schema", Values.type(schema));
        request.set("filters", Predicates.json(filters));
        return parse(Python.ask("plan_scan", request));
    }

    private static ScanPlan parse(JsonNode answer) {
        List<Group> groups = new ArrayList<>();
        answer.get("groups").forEach(group -> groups.add(parseGroup(group)));
        List<Segment> segments = new ArrayList<>();
        answer.get("files").forEach(file -> segments.add(new Segment(file.get("group").asInt(),
            file.get("path").asText(), file.get("schema_version").asInt(), file.get("rows").asLong(),
            file.get("bytes").asLong(), file.get("sequence").asLong(), file.get("commit_time").asLong(),
            file.get("row_sequence").isNull() ? null : file.get("row_sequence").asLong())));
        return new ScanPlan(List.copyOf(groups), List.copyOf(segments), answer.get("live").asLong(),
            List.of(CatalogQuestions.parts(answer.get("layout"))));
    }

    private static Group parseGroup(JsonNode json) {
        if (!json.get("native").asBoolean()) {
            return new PythonGroup();
        }
        List<ConstantColumn> constants = new ArrayList<>();
        json.get("constants").forEach(one -> constants.add(new ConstantColumn(one.get("name").asText(),
            Values.type(one.get("type")), one.path("implicit").asInt(0), one.path("value").textValue())));
        int[] order = new int[json.get("order").size()];
        for (int i = 0; i < order.length; i++) {
            order[i] = json.get("order").get(i).asInt();
        }
        Map<String, String[]> names = new HashMap<>();
        json.get("names").forEach(name -> names.put(Predicates.key(List.of(CatalogQuestions.parts(name.get("column")))),
            CatalogQuestions.parts(name.get("physical"))));
        StructType schema = (StructType) Values.type(json.get("read_schema"));
        return new NativeGroup(schema, json.get("row_position").asBoolean(), constants, order, names);
    }

    boolean isAnyNative() {
        return groups.stream().anyMatch(NativeGroup.class::isInstance);
    }

    boolean isNative(Segment segment) {
        return groups.get(segment.group()) instanceof NativeGroup;
    }

    long rows() {
        return segments.stream().mapToLong(Segment::rows).sum();
    }
}
