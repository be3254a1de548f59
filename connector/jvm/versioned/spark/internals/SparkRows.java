package versioned.spark.internals;

import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.execution.ExternalAppendOnlyUnsafeRowArray;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/** Rows of a task that are kept until the task has all of them; many rows are kept on disk. */
public final class SparkRows {
    private static final int ROWS_IN_MEMORY = 4096;
    private static final long BYTES_IN_MEMORY = 64L << 20;
    private static final int ROWS_BEFORE_DISK = 1 << 18;
    private static final long BYTES_BEFORE_DISK = 1L << 30; // one page of Spark's memory may be 64 MiB, used or not

    private final UnsafeProjection projection;
    private final ExternalAppendOnlyUnsafeRowArray kept =
        new ExternalAppendOnlyUnsafeRowArray(ROWS_IN_MEMORY, BYTES_IN_MEMORY, ROWS_BEFORE_DISK, BYTES_BEFORE_DISK);

    /** @param schema of the rows */
    public SparkRows(StructType schema) {
        this.projection = UnsafeProjection.create(schema);
    }

    /** Keeps a copy of a row. */
    public void add(InternalRow row) {
        kept.add(projection.apply(row));
    }

    /** The rows, in their order; each is valid until the next one. */
    @SuppressWarnings("unchecked")
    public Iterator<InternalRow> iterator() {
        return (Iterator<InternalRow>) (Iterator<?>) CollectionConverters.asJava(kept.generateIterator());
    }

    /** Frees memory and disk. */
    public void clear() {
        kept.clear();
    }
}
