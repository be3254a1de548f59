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
import versioned.spark.catalog.VersionedTable;

/** Collects what Spark pushes down to a scan. */
public final class VersionedScanBuilder implements SupportsPushDownRequiredColumns, SupportsPushDownV2Filters,
        SupportsPushDownLimit, SupportsPushDownAggregates {
    private final VersionedTable table;
    private final CaseInsensitiveStringMap options;
    private final boolean isFiltered;
    private final boolean pushed;
    private StructType wanted;
    private List<Predicate> filters = List.of();
    private Integer limit;
    private Scan answered;

    public VersionedScanBuilder(VersionedTable table, CaseInsensitiveStringMap options) {
        this(table, options, true);
    }

    /** @param isFiltered whether Spark may leave out segments while the query runs */
    public VersionedScanBuilder(VersionedTable table, CaseInsensitiveStringMap options, boolean isFiltered) {
        this.table = table;
        this.options = options;
        this.isFiltered = isFiltered;
        this.pushed = options.getBoolean("pushdown", true);
        this.wanted = table.schema();
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
        return predicates; // segments and row groups are skipped by them; rows are Spark's to judge
    }

    @Override
    public Predicate[] pushedPredicates() {
        return new Predicate[0];
    }

    /** What rows must fulfil, as far as Spark could say it: no others are read. */
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
        return answer(aggregation);
    }

    @Override
    public boolean pushAggregation(Aggregation aggregation) {
        return answer(aggregation);
    }

    /** Spark pushes an aggregation only where no filter is left to it. */
    private boolean answer(Aggregation aggregation) {
        if (pushed && answered == null && filters.isEmpty()) {
            answered = AnsweredScan.ask(table, aggregation).orElse(null);
        }
        return answered != null;
    }

    @Override
    public Scan build() {
        return answered != null ? answered : new VersionedScan(table, options, wanted, filters, limit, isFiltered);
    }
}
