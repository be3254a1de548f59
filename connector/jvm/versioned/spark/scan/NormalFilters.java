package versioned.spark.scan;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.catalyst.util.TypeUtils;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.And;
import org.apache.spark.sql.connector.expressions.filter.Not;
import org.apache.spark.sql.connector.expressions.filter.Or;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.DataType;

/**
 * Filters in a normal form. Long lists of values are ranges, so that pruning is fast; operands are sorted, so that equal
 * scans compare as equal and Spark runs them once.
 */
final class NormalFilters {
    /** Longest list of values. More values seldom skip a segment that their range does not. */
    static final int MAX_VALUES = 1000;

    private static final Comparator<Predicate> BY_TEXT = Comparator.comparing(Predicate::toString);

    private NormalFilters() {}

    /** Filters that let at least the same rows pass. */
    static List<Predicate> of(List<Predicate> filters) {
        return filters.stream().map(NormalFilters::shortened).map(NormalFilters::sorted).distinct().sorted(BY_TEXT).toList();
    }

    private static Predicate sorted(Predicate filter) {
        Expression[] children = filter.children();
        return switch (filter.name()) {
            case "AND", "OR" -> {
                Predicate one = sorted((Predicate) children[0]);
                Predicate other = sorted((Predicate) children[1]);
                boolean inOrder = BY_TEXT.compare(one, other) <= 0;
                Predicate first = inOrder ? one : other;
                Predicate second = inOrder ? other : one;
                yield filter.name().equals("AND") ? new And(first, second) : new Or(first, second);
            }
            case "NOT" -> new Not(sorted((Predicate) children[0]));
            default -> filter;
        };
    }

    private static Predicate shortened(Predicate filter) {
        Expression[] children = filter.children();
        if (!filter.name().equals("IN") || children.length <= MAX_VALUES || !(children[0] instanceof NamedReference)) {
            return filter;
        }
        List<Literal<?>> values = new ArrayList<>();
        for (int i = 1; i < children.length; i++) {
            if (!(children[i] instanceof Literal<?> literal)) {
                return filter;
            }
            if (literal.value() != null) { // null equals nothing
                values.add(literal);
            }
        }
        return values.isEmpty() ? filter : range(children[0], values);
    }

    private static Predicate range(Expression column, List<Literal<?>> values) {
        DataType type = values.get(0).dataType();
        Comparator<Object> order = TypeUtils.getInterpretedOrdering(type);
        Comparator<Literal<?>> byValue = (a, b) -> order.compare(Objects.requireNonNull(a.value()), b.value());
        Literal<?> least = values.stream().min(byValue).orElseThrow();
        Literal<?> greatest = values.stream().max(byValue).orElseThrow();
        return new And(compared(">=", column, least), compared("<=", column, greatest));
    }

    private static Predicate compared(String name, Expression column, Literal<?> value) {
        return new Predicate(name, new Expression[] {column, value});
    }
}
