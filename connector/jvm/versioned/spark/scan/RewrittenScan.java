package versioned.spark.scan;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.protocol.TableRef;

/**
 * What a DELETE, UPDATE or MERGE by copy on write reads: whole segments, since all of their rows are written again. Filters
 * choose segments and never rows: a row that is not read would be lost.
 */
final class RewrittenScan extends VersionedScan {
    static final NamedReference SEGMENT = FieldReference.column("_segment");

    private final NamedReference[] segment;
    private boolean planned;
    private boolean fixed;

    RewrittenScan(TableRef table, CaseInsensitiveStringMap options, StructType wanted, int rowWidth,
            List<Predicate> filters, boolean isPartitioned, NamedReference[] segment) {
        super(table, options, wanted, rowWidth, filters, null, isPartitioned, false, true);
        this.segment = segment;
    }

    @Override
    boolean isWhole() {
        return true;
    }

    /** The paths of the segments to replace; none if nothing was read. */
    synchronized List<String> replaced() {
        return planned ? segments().stream().map(ScanPlan.Segment::path).toList() : List.of();
    }

    /** Fixes the segments to replace now; from now on, runtime filters leave none out. */
    synchronized List<String> fix() {
        fixed = true;
        planned = true;
        return replaced();
    }

    /** None once the segments to replace are fixed: all of these must be read. */
    @Override
    public synchronized NamedReference[] filterAttributes() {
        return fixed ? new NamedReference[0] : segment;
    }

    @Override
    public void filter(Predicate[] predicates) {
        for (Predicate predicate : predicates) {
            if (predicate.name().equals("IN") && SEGMENT.equals(predicate.children()[0])) {
                keep(paths(predicate));
            }
        }
    }

    private static Set<String> paths(Predicate in) {
        Set<String> paths = new HashSet<>();
        for (Expression child : in.children()) {
            if (child instanceof Literal<?> literal) {
                paths.add(String.valueOf(literal.value()));
            }
        }
        return paths;
    }

    @Override
    public InputPartition[] planInputPartitions() {
        synchronized (this) {
            planned = true;
        }
        return super.planInputPartitions();
    }
}
