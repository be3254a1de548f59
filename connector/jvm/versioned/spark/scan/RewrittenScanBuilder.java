package versioned.spark.scan;

import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.protocol.TableRef;

/** Builds the scan of a DELETE, UPDATE or MERGE by copy on write, and knows afterwards which segments it read. */
public final class RewrittenScanBuilder implements SupportsPushDownRequiredColumns, SupportsPushDownV2Filters {
    private final TableRef table;
    private final CaseInsensitiveStringMap options;
    private final NamedReference[] segment;
    private StructType wanted;
    private List<Predicate> filters = List.of();
    private RewrittenScan scan;

    /** @param schema of the table */
    public RewrittenScanBuilder(TableRef table, StructType schema, CaseInsensitiveStringMap options) {
        this.table = table;
        this.options = options;
        this.segment = segmentOf(schema);
        this.wanted = schema;
    }

    /**
     * The metadata column that Spark's runtime filter uses to leave out segments. None if a column of the table has its
     * name; none if a column is a CHAR, which Spark pads in the statement and then does not find in the runtime filter's
     * query.
     */
    public static NamedReference[] segmentOf(StructType schema) {
        String name = RewrittenScan.SEGMENT.fieldNames()[0];
        boolean taken = Stream.of(schema.fields()).anyMatch(column -> column.name().equalsIgnoreCase(name)
            || CharVarcharUtils.hasCharVarchar(column.dataType()));
        return taken ? new NamedReference[0] : new NamedReference[] {RewrittenScan.SEGMENT};
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
    public Predicate[] pushedPredicates() {
        return new Predicate[0];
    }

    @Override
    public Scan build() {
        if (scan != null) {
            throw new IllegalStateException("a statement reads the table that it changes in one scan only");
        }
        scan = new RewrittenScan(table, options, wanted, filters, segment);
        return scan;
    }

    /** The pushed filters; all rows that change satisfy them. */
    public List<Predicate> filters() {
        return filters;
    }

    /** The paths of the segments that were read, which the new ones replace. */
    public List<String> replaced() {
        return scan == null ? List.of() : scan.replaced();
    }

    /** Fixes the segments to replace before the query runs. */
    public List<String> fix() {
        return scan == null ? List.of() : scan.fix();
    }
}
