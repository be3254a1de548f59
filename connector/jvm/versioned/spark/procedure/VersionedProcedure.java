package versioned.spark.procedure;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.DataFrameReader;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StructType;
import versioned.spark.catalog.CatalogQuestions;
import versioned.spark.python.AnsweredRows;
import versioned.spark.python.Commits;
import versioned.spark.python.Python;
import versioned.spark.python.Values;

/** {@code CALL <catalog>.system.<procedure>(...)}: Python says what it takes, does it, and tells what came of it. */
public final class VersionedProcedure implements UnboundProcedure, BoundProcedure {
    private final ObjectNode request;
    private final String name;
    private final String description;
    private final ProcedureParameter[] parameters;
    private final StructType result;

    private VersionedProcedure(ObjectNode request, JsonNode told) {
        this.request = request;
        this.name = told.get("name").asText();
        this.description = told.get("description").asText();
        List<ProcedureParameter> found = new ArrayList<>();
        told.get("parameters").forEach(parameter -> found.add(parse(parameter)));
        this.parameters = found.toArray(ProcedureParameter[]::new);
        this.result = (StructType) Values.type(told.get("result"));
    }

    /**
     * A procedure from the answer to {@code procedure}.
     *
     * @param request names the catalog and the procedure
     */
    public static VersionedProcedure of(ObjectNode request, JsonNode told) {
        return new VersionedProcedure(request, told);
    }

    private static ProcedureParameter parse(JsonNode json) {
        ProcedureParameter.Builder made =
            ProcedureParameter.in(json.get("name").asText(), Values.type(json.get("type")));
        return (json.get("required").asBoolean() ? made : made.defaultValue("NULL"))
            .comment(json.get("comment").asText()).build();
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public String description() {
        return description;
    }

    @Override
    public BoundProcedure bind(StructType types) {
        return this;
    }

    @Override
    public ProcedureParameter[] parameters() {
        return parameters;
    }

    @Override
    public boolean isDeterministic() {
        return false;
    }

    @Override
    public Iterator<Scan> call(InternalRow given) {
        ObjectNode asked = request.deepCopy();
        ObjectNode arguments = asked.putObject("arguments");
        for (int i = 0; i < parameters.length; i++) {
            Object value = given.isNullAt(i) ? null : given.get(i, parameters[i].dataType());
            arguments.put(parameters[i].name(), Values.text(value, parameters[i].dataType()));
        }
        JsonNode answer = Commits.ask("call", asked);
        if (answer.hasNonNull("job")) {
            asked.set("job", answer.get("job"));
            asked.set("results", results(answer.get("job")));
            answer = Commits.ask("call", asked);
        }
        if (answer.hasNonNull("table")) {
            refresh(CatalogQuestions.parts(answer.get("table")));
        }
        return List.<Scan>of(AnsweredRows.parse("VersionedProcedure " + name, result, answer.get("rows"))).iterator();
    }

    /** What the data source tells of its work, which Spark spreads over its executors: rows of text. */
    private static ArrayNode results(JsonNode job) {
        ArrayNode results = Python.JSON.createArrayNode();
        DataFrameReader reader = SparkSession.active().read().format("versioned");
        CatalogQuestions.texts(job.get("options")).forEach(reader::option);
        for (Row row : reader.load(job.get("path").asText()).collectAsList()) {
            ArrayNode cells = results.addArray();
            for (int i = 0; i < row.size(); i++) {
                cells.add(row.getString(i));
            }
        }
        return results;
    }

    /** Spark keeps the rows of a cached table until it is told, as its own statements that write tell it. */
    private static void refresh(String[] table) {
        SparkSession.active().catalog().refreshTable(Stream.of(table)
            .map(part -> "`" + part.replace("`", "``") + "`").collect(Collectors.joining(".")));
    }
}
