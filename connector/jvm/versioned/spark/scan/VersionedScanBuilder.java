package versioned.spark.scan;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.protocol.TableRef;

/** Collects what Spark pushes down to a scan. */
public final class VersionedScanBuilder implements SupportsPushDownRequiredColumns, SupportsPushDownV2Filters,
        SupportsPushDownLimit, SupportsPushDownAggregates {
    private final TableRef table;
    private final CaseInsensitiveStringMap options;
    private final boolean isFiltered;
    private final boolean pushed;
    private StructType wanted;
    private List<Predicate> filters = List.of();
    private Integer limit;
    private Scan aggregates;

    /**
     * @param schema of the table
     * @param isFiltered whether runtime filters may leave out segments
     */
    public VersionedScanBuilder(TableRef table, StructType schema, CaseInsensitiveStringMap options, boolean isFiltered) {
        this.table = table;
        this.options = options;
        this.isFiltered = isFiltered;
        this.pushed = options.getBoolean("pushdown", true);
        this.wanted = schema;
    }

    @Override
    public void pruneColumns(StructType schema) {
        wanted = schema;
    }

    @Override
    public Predicate[] pushPredicates(Predicate[] predicates) {
        if (pushed) {
            filters = new ArrayList<>(List.of(predicates));
        }
        return predicates; // they skip segments and row groups; Spark evaluates them for each row
    }

    @Override
    public Predicate[] pushedPredicates() {
        return new Predicate[0];
    }

    /** The pushed filters; rows that do not satisfy them need not be read. */
    public List<Predicate> filters() {
        return filters;
    }

    @Override
    public boolean pushLimit(int rows) {
        limit = pushed ? rows : null;
        return pushed;
    }

    @Override
    public boolean isPartiallyPushed() {
        return true;
    }

    @Override
    public boolean supportCompletePushDown(Aggregation aggregation) {
        return pushAggregation(aggregation);
    }

    /** Spark pushes an aggregation only if it evaluates no filter itself. */
    @Override
    public boolean pushAggregation(Aggregation aggregation) {
        if (pushed && aggregates == null && filters.isEmpty()) {
            aggregates = MetadataAggregates.find(table, aggregation).orElse(null);
        }
        return aggregates != null;
    }

    @Override
    public Scan build() {
        return aggregates != null ? aggregates : new VersionedScan(table, options, wanted, filters, limit, isFiltered);
    }
}
