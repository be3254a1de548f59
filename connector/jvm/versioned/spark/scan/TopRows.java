package versioned.spark.scan;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.LiteralValue;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.NullOrdering;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.expressions.filter.Or;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import versioned.spark.protocol.FindTop;
import versioned.spark.protocol.TableRef;
import versioned.spark.protocol.TypedValue;
import versioned.spark.python.Python;
import versioned.spark.python.Values;

/** ORDER BY with LIMIT: a filter that all of its rows satisfy. Spark sorts and limits the rows all the same. */
final class TopRows {
    private TopRows() {}

    /** A filter that leaves out segments, if there is one. */
    static Optional<Predicate> of(TableRef table, SortOrder order, int rows) {
        if (!(order.expression() instanceof NamedReference column)) {
            return Optional.empty();
        }
        boolean isDescending = order.direction() == SortDirection.DESCENDING;
        TypedValue bound = Python.send(new FindTop(table, List.of(column.fieldNames()), isDescending, rows)).bound();
        return Optional.ofNullable(bound).map(found -> filter(column, order, found));
    }

    private static Predicate filter(NamedReference column, SortOrder order, TypedValue bound) {
        LiteralValue<?> value = new LiteralValue<>(Values.parse(bound.value().textValue(), bound.type()), bound.type());
        String sign = order.direction() == SortDirection.DESCENDING ? ">=" : "<=";
        Predicate reached = new Predicate(sign, new Expression[] {column, value});
        return order.nullOrdering() == NullOrdering.NULLS_LAST ? reached
            : new Or(new Predicate("IS_NULL", new Expression[] {column}), reached);
    }
}
