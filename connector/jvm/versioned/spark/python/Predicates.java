package versioned.spark.python;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.And;
import org.apache.spark.sql.connector.expressions.filter.Not;
import org.apache.spark.sql.connector.expressions.filter.Or;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import scala.jdk.javaapi.CollectionConverters;



/** Predicates: told to Python, and renamed for Parquet. */
public final class Predicates {
    private Predicates() {}

    /** Predicates as Python is told of them. */
    public static ArrayNode json(List<Predicate> predicates) {
        ArrayNode json = Python.JSON.createArrayNode();
        predicates.forEach(predicate -> json.add(json(predicate)));
        return json;
    }

    private static ObjectNode json(Expression expression) {
        ObjectNode json = Python.JSON.createObjectNode();
        if (expression instanceof Predicate predicate) {
            json.put("name", predicate.name());
            ArrayNode children = json.putArray("children");
            for (Expression child : predicate.children()) {
                children.add(json(child));
            }
        } else if (expression instanceof NamedReference reference) {
            json.set("column", Python.JSON.valueToTree(reference.fieldNames()));
        } else if (expression instanceof Literal<?> literal && Values.hasText(literal.dataType())) {
            json.set("literal", Values.json(literal));
        }
        return json;
    }

    /** The key of a column in a map of names, which have no case. */
    public static String key(List<String> path) {
        return path.stream().map(part -> part.toLowerCase(Locale.ROOT)).collect(Collectors.joining("\0"));
    }

    /**
     * The same predicate about columns as they are named in files.
     *
     * @param names physical names by {@link #key}
     * @return empty where a column of it is not in the files, or where Parquet would answer otherwise than Spark
     */
    public static Optional<Predicate> renamed(Predicate predicate, Map<String, String[]> names) {
        List<Expression> children = new ArrayList<>();
        for (Expression child : predicate.children()) {
            Optional<? extends Expression> renamed = child instanceof Predicate inner
                ? renamed(inner, names) : renamedLeaf(child, names);
            if (renamed.isEmpty()) {
                return Optional.empty();
            }
            children.add(renamed.get());
        }
        return Optional.of(made(predicate, children));
    }

    private static Predicate made(Predicate like, List<Expression> children) {
        return switch (like.name()) {
            case "AND" -> new And((Predicate) children.get(0), (Predicate) children.get(1));
            case "OR" -> new Or((Predicate) children.get(0), (Predicate) children.get(1));
            case "NOT" -> new Not((Predicate) children.get(0));
            case "ALWAYS_TRUE", "ALWAYS_FALSE" -> like;
            default -> new Predicate(like.name(), children.toArray(new Expression[0]));
        };
    }

    private static Optional<Expression> renamedLeaf(Expression leaf, Map<String, String[]> names) {
        if (leaf instanceof NamedReference reference) {
            String[] physical = names.get(key(Arrays.asList(reference.fieldNames())));
            return Optional.ofNullable(physical)
                .map(parts -> new FieldReference(CollectionConverters.asScala(Arrays.asList(parts)).toSeq()));
        }
        return leaf instanceof Literal<?> literal && !isTold(literal.value()) ? Optional.of(leaf) : Optional.empty();
    }

    /** Parquet tells -0.0 from 0.0, and has its own idea of NaN. */
    private static boolean isTold(Object value) {
        return value instanceof Double d && (d == 0.0 || d.isNaN()) || value instanceof Float f && (f == 0.0f || f.isNaN());
    }
}
