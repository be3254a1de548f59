package versioned.spark.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.Transform;
import versioned.spark.python.Python;

/** Partitioning between Spark's expressions and JSON. */
public final class Transforms {
    private Transforms() {}

    static Transform[] parse(JsonNode partitioning) {
        return StreamSupport.stream(partitioning.spliterator(), false)
            .map(Transforms::parseOne).toArray(Transform[]::new);
    }

    /** What rows are spread or sorted by: a column, a transform of one, or one number for several such. */
    public static Expression expression(JsonNode json) {
        if (json.has("of")) {
            return Expressions.apply(json.get("transform").asText(),
                StreamSupport.stream(json.get("of").spliterator(), false).map(Transforms::expression)
                    .toArray(Expression[]::new));
        }
        boolean plain = json.get("transform").asText().equals("identity");
        return plain ? FieldReference.apply(columnOf(json)) : parseOne(json);
    }

    private static String columnOf(JsonNode json) {
        return Stream.of(CatalogQuestions.parts(json.get("column"))).map(Transforms::quoted)
            .collect(Collectors.joining("."));
    }

    private static Transform parseOne(JsonNode json) {
        String column = columnOf(json);
        return switch (json.get("transform").asText()) {
            case "identity" -> Expressions.identity(column);
            case "years" -> Expressions.years(column);
            case "months" -> Expressions.months(column);
            case "days" -> Expressions.days(column);
            case "hours" -> Expressions.hours(column);
            case "bucket" -> Expressions.bucket(json.get("size").asInt(), column);
            default -> sized(json, column);
        };
    }

    private static String quoted(String name) {
        return "`" + name.replace("`", "``") + "`";
    }

    private static Transform sized(JsonNode json, String column) {
        List<Expression> arguments = new ArrayList<>();
        arguments.add(Expressions.literal(json.get("size").asInt()));
        arguments.add(FieldReference.apply(column));
        return Expressions.apply(json.get("transform").asText(), arguments.toArray(new Expression[0]));
    }

    static ArrayNode json(Transform[] partitioning) {
        ArrayNode json = Python.JSON.createArrayNode();
        for (Transform transform : partitioning) {
            json.add(transform.describe());
        }
        return json;
    }
}
