package versioned.spark.scan;

import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownTopN;
import org.apache.spark.sql.connector.read.SupportsPushDownVariantExtractions;
import org.apache.spark.sql.connector.read.VariantExtraction;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.internals.VariantFields;
import versioned.spark.protocol.TableRef;

/** Collects what Spark pushes down to a scan. */
public final class VersionedScanBuilder extends PushedScanBuilder implements SupportsPushDownLimit, SupportsPushDownTopN,
        SupportsPushDownAggregates, SupportsPushDownVariantExtractions {
    private final boolean isKeyed;
    private final boolean isFiltered;
    private final boolean pushed;
    private Integer limit;
    private Scan aggregates;
    private List<VariantExtraction> extractions = List.of();

    /**
     * @param schema of the table
     * @param isPartitioned whether the table is
     * @param isKeyed whether segments are sorted by a row key
     * @param isFiltered whether runtime filters may leave out segments
     */
    public VersionedScanBuilder(TableRef table, StructType schema, boolean isPartitioned, boolean isKeyed,
            CaseInsensitiveStringMap options, boolean isFiltered) {
        super(table, schema, isPartitioned, options);
        this.isKeyed = isKeyed;
        this.isFiltered = isFiltered;
        this.pushed = options.getBoolean("pushdown", true);
    }

    @Override
    public Predicate[] pushPredicates(Predicate[] predicates) {
        return pushed ? super.pushPredicates(predicates) : predicates;
    }

    @Override
    public boolean pushLimit(int rows) {
        limit = pushed ? rows : null;
        return pushed;
    }

    /** Spark pushes an order only if it evaluates no filter itself. */
    @Override
    public boolean pushTopN(SortOrder[] orders, int rows) {
        Optional<Predicate> first = pushed && filters.isEmpty() ? TopRows.of(table, orders[0], rows) : Optional.empty();
        first.ifPresent(filter -> filters = List.of(filter));
        return first.isPresent();
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
    public boolean supportsDeferCastError() {
        return true;
    }

    /** Fields of variants are extracted where Spark's Parquet reader then reads less of a file. */
    @Override
    public boolean[] pushVariantExtractions(VariantExtraction[] asked) {
        boolean[] accepted = pushed && VersionedScan.isNative(table, options) ? VariantFields.accepted(asked)
            : new boolean[asked.length];
        extractions = IntStream.range(0, asked.length).filter(i -> accepted[i]).mapToObj(i -> asked[i]).toList();
        return accepted;
    }

    @Override
    public Scan build() {
        StructType shown = VariantFields.extracted(wanted, extractions);
        return aggregates != null ? aggregates
            : new VersionedScan(table, options, shown, rowWidth, filters, limit, isPartitioned, isKeyed, isFiltered);
    }
}
