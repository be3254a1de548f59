package versioned.spark.scan;

import java.util.List;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.protocol.TableRef;

/** Collects the columns and filters of a scan. Filters skip segments and row groups; Spark evaluates them for each row, too. */
abstract class PushedScanBuilder implements SupportsPushDownRequiredColumns, SupportsPushDownV2Filters {
    final TableRef table;
    final CaseInsensitiveStringMap options;
    final boolean isPartitioned;
    final int rowWidth;
    StructType wanted;
    List<Predicate> filters = List.of();

    /**
     * @param schema all columns
     * @param isPartitioned whether the table is
     */
    PushedScanBuilder(TableRef table, StructType schema, boolean isPartitioned, CaseInsensitiveStringMap options) {
        this.table = table;
        this.options = options;
        this.isPartitioned = isPartitioned;
        this.rowWidth = schema.defaultSize();
        this.wanted = schema;
    }

    @Override
    public void pruneColumns(StructType schema) {
        wanted = schema;
    }

    @Override
    public Predicate[] pushPredicates(Predicate[] predicates) {
        filters = List.of(predicates);
        return predicates;
    }

    @Override
    public final Predicate[] pushedPredicates() {
        return new Predicate[0];
    }

    /** The pushed filters; rows that do not satisfy them need not be read. */
    public final List<Predicate> filters() {
        return filters;
    }
}
