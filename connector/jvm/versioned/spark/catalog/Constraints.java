package versioned.spark.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.catalog.constraints.Constraint;
import org.apache.spark.sql.connector.catalog.constraints.PrimaryKey;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.NamedReference;
import versioned.spark.python.Python;

/** Constraints between Spark's classes and JSON; which ones a table can have, Python knows. */
final class Constraints {
    private Constraints() {}

    static ArrayNode json(Constraint[] constraints) {
        ArrayNode json = Python.JSON.createArrayNode();
        Stream.of(constraints).map(Constraints::json).forEach(json::add);
        return json;
    }

    static ObjectNode json(Constraint constraint) {
        ObjectNode json = Python.JSON.createObjectNode().put("ddl", constraint.toDDL());
        if (constraint instanceof PrimaryKey key) {
            ArrayNode columns = json.putArray("primary_key");
            Stream.of(key.columns()).forEach(column -> columns.add(Python.JSON.valueToTree(column.fieldNames())));
        }
        return json;
    }

    /** @param key the primary key as Python tells of it, or null */
    static Constraint[] parse(JsonNode key) {
        if (key.isNull()) {
            return new Constraint[0];
        }
        NamedReference[] columns = Stream.of(CatalogQuestions.parts(key.get("columns")))
            .map(FieldReference::column).toArray(NamedReference[]::new);
        return new Constraint[] {Constraint.primaryKey(key.get("name").asText(), columns).enforced(false)
            .rely(key.get("rely").asBoolean()).validationStatus(Constraint.ValidationStatus.VALID).build()};
    }
}
