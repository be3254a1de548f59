package versioned.spark.scan;

import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.protocol.TableRef;

/** Builds the scan of a DELETE, UPDATE or MERGE by copy on write, and knows afterwards which segments it read. */
public final class RewrittenScanBuilder extends PushedScanBuilder {
    private final NamedReference[] segment;
    private RewrittenScan scan;

    /**
     * @param schema of the table
     * @param isPartitioned whether the table is
     */
    public RewrittenScanBuilder(TableRef table, StructType schema, boolean isPartitioned, CaseInsensitiveStringMap options) {
        super(table, schema, isPartitioned, options);
        this.segment = segmentOf(schema);
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
    public Scan build() {
        if (scan != null) {
            throw new IllegalStateException("a statement reads the table that it changes in one scan only");
        }
        scan = new RewrittenScan(table, options, wanted, rowWidth, filters, isPartitioned, segment);
        return scan;
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
