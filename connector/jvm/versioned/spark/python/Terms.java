package versioned.spark.python;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.And;
import org.apache.spark.sql.connector.expressions.filter.Not;
import org.apache.spark.sql.connector.expressions.filter.Or;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.protocol.*;

/** Spark's predicates as terms of requests, and renamed for Parquet. */
public final class Terms {
    private Terms() {}

    /** Predicates as terms. */
    public static List<Term> of(List<Predicate> predicates) {
        return predicates.stream().map(Terms::of).toList();
    }

    private static Term of(Expression expression) {
        if (expression instanceof Predicate predicate) {
            return new PredicateTerm(predicate.name(), Stream.of(predicate.children()).map(Terms::of).toList());
        }
        if (expression instanceof NamedReference reference) {
            return new ColumnTerm(List.of(reference.fieldNames()));
        }
        return expression instanceof Literal<?> literal && Values.hasText(literal.dataType())
            ? new LiteralTerm(Values.typed(literal.value(), literal.dataType())) : new OtherTerm();
    }

    /** The key of a column in a map by case-insensitive names. */
    public static String key(List<String> path) {
        return path.stream().map(part -> part.toLowerCase(Locale.ROOT)).collect(Collectors.joining("\0"));
    }

    /**
     * A predicate on columns as they are named in files.
     *
     * @param names physical names by {@link #key}, of all columns of the predicate
     */
    public static Predicate renamed(Predicate predicate, Map<String, List<String>> names) {
        List<Expression> children = new ArrayList<>();
        for (Expression child : predicate.children()) {
            children.add(child instanceof Predicate inner ? renamed(inner, names)
                : child instanceof NamedReference reference ? renamed(reference, names) : child);
        }
        return switch (predicate.name()) {
            case "AND" -> new And((Predicate) children.get(0), (Predicate) children.get(1));
            case "OR" -> new Or((Predicate) children.get(0), (Predicate) children.get(1));
            case "NOT" -> new Not((Predicate) children.get(0));
            case "ALWAYS_TRUE", "ALWAYS_FALSE" -> predicate;
            default -> new Predicate(predicate.name(), children.toArray(new Expression[0]));
        };
    }

    private static Expression renamed(NamedReference column, Map<String, List<String>> names) {
        List<String> physical = names.get(key(Arrays.asList(column.fieldNames())));
        return new FieldReference(CollectionConverters.asScala(physical).toSeq());
    }
}
