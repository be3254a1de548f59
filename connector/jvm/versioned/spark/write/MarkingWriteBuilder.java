package versioned.spark.write;

import java.util.List;
import java.util.Set;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.write.DeltaWrite;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import versioned.spark.protocol.Write;

/**
 * Builds the write of a DELETE, UPDATE or MERGE by marks.
 *
 * @param info Spark's description; the rows of a DELETE have no columns
 */
public record MarkingWriteBuilder(WriteTarget target, Rewrite rewrite, LogicalWriteInfo info)
        implements DeltaWriteBuilder {
    private static final String SEGMENT = "_segment";
    private static final String POSITION = "_row_position";

    /** The metadata columns that say where a row is, in the order of {@code MarkedPositions.add}. */
    public static NamedReference[] place() {
        return new NamedReference[] {FieldReference.column(SEGMENT), FieldReference.column(POSITION)};
    }

    /** Their names. */
    public static Set<String> placeNames() {
        return Set.of(SEGMENT, POSITION);
    }

    @Override
    public DeltaWrite build() {
        Write write = new Write(target.ref(), "rewrite", rewrite.operation(), rewrite.filters(), false,
            List.of(), null, null, true, List.of(), null);
        DistributedWrite rows = rewrite.operation().equals("delete") ? null
            : new VersionedWriteBuilder(target, info, rewrite).build();
        return new MarkingWrite(target, write, rows, rows == null ? null : rows.toBatch(),
            WriteMetrics.ofMarks(target.ref()), new Statement(rewrite.condition()));
    }
}
