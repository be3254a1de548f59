package versioned.spark.scan;

import java.util.Set;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.LiteralValue;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownTopN;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.StructType;
import versioned.spark.protocol.ReadMetadata;
import versioned.spark.protocol.TableRef;
import versioned.spark.python.LocalRows;
import versioned.spark.python.Python;
import versioned.spark.python.TableRefs;

/**
 * A scan of a metadata table. Of {@code history}, only the newest commits are read if the first version, or the number of the
 * newest commits, is known; Spark filters, sorts and limits the rows all the same.
 */
public final class MetadataScanBuilder implements SupportsPushDownV2Filters, SupportsPushDownTopN {
    private static final Set<String> FROM = Set.of(">", ">=", "=");

    private final TableRef table;
    private final String kind;
    private final StructType schema;
    private Long first;
    private Long newest;

    public MetadataScanBuilder(TableRef table, String kind, StructType schema) {
        this.table = table;
        this.kind = kind;
        this.schema = schema;
    }

    @Override
    public Predicate[] pushPredicates(Predicate[] predicates) {
        for (Predicate predicate : isHistory() ? predicates : pushedPredicates()) {
            Expression[] sides = predicate.children();
            if (FROM.contains(predicate.name()) && isColumn(sides[0], "version")
                    && sides[1] instanceof LiteralValue<?> literal && literal.value() instanceof Long version) {
                first = Math.max(version, first == null ? 0 : first);
            }
        }
        return predicates;
    }

    @Override
    public Predicate[] pushedPredicates() {
        return new Predicate[0];
    }

    /** Times grow with versions. */
    @Override
    public boolean pushTopN(SortOrder[] orders, int limit) {
        Expression column = orders[0].expression();
        boolean isNewest = isHistory() && limit > 0 && orders[0].direction() == SortDirection.DESCENDING
            && (isColumn(column, "version") || isColumn(column, "time"));
        newest = isNewest ? (long) limit : null;
        return isNewest;
    }

    @Override
    public boolean isPartiallyPushed() {
        return true;
    }

    private boolean isHistory() {
        return kind.equals("history");
    }

    private static boolean isColumn(Expression expression, String name) {
        return expression instanceof NamedReference column && column.fieldNames().length == 1
            && column.fieldNames()[0].equals(name);
    }

    @Override
    public Scan build() {
        return LocalRows.parse("VersionedMetadata " + kind + " of " + TableRefs.label(table) + part(), schema,
            Python.send(new ReadMetadata(table, kind, first, newest)).rows());
    }

    private String part() {
        return (first == null ? "" : ", from version " + first) + (newest == null ? "" : ", newest " + newest);
    }
}
