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
import versioned.spark.catalog.VersionedTable;

/** Collects what a DELETE, UPDATE or MERGE wants to read, and knows afterwards what it has read. */
public final class RewrittenScanBuilder implements SupportsPushDownRequiredColumns, SupportsPushDownV2Filters {
    private final VersionedTable table;
    private final CaseInsensitiveStringMap options;
    private StructType wanted;
    private List<Predicate> filters = List.of();
    private RewrittenScan scan;

    public RewrittenScanBuilder(VersionedTable table, CaseInsensitiveStringMap options) {
        this.table = table;
        this.options = options;
        this.wanted = table.schema();
    }

    /**
     * The column that tells the segment of a row, by which segments are left out while a statement runs. None where the
     * table has given its name to a column of its own; and none where a column is a CHAR: Spark pads those in the
     * statement, and then does not find them in the query that tells which segments to leave out.
     */
    public static NamedReference[] segmentOf(VersionedTable table) {
        String name = RewrittenScan.SEGMENT.fieldNames()[0];
        boolean taken = Stream.of(table.columns()).anyMatch(column -> column.name().equalsIgnoreCase(name)
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
            throw new IllegalStateException("a statement reads the table that it changes in one scan");
        }
        scan = new RewrittenScan(table, options, wanted, filters);
        return scan;
    }

    /** What the rows that change must fulfil, as far as it can be said of a segment. */
    public List<Predicate> filters() {
        return filters;
    }

    /** The paths of the segments that were read; what was written stands for them. */
    public List<String> replaced() {
        return scan == null ? List.of() : scan.replaced();
    }

    /** The same for a write that has to know before the query runs. */
    public List<String> fix() {
        return scan == null ? List.of() : scan.fix();
    }
}
