package versioned.spark.scan;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.Iterator;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.read.PartitionReader;
import versioned.spark.python.Condition;

/** One reader after another, with errors that name the segments. */
final class ChainedReader<T> implements PartitionReader<T> {
    private final String table;
    private final Iterator<MergePart> merges;
    private final MergedSegments merged;
    private Iterator<NativePartition.Run> runs;
    private final Function<NativePartition.Run, PartitionReader<T>> open;
    private final Function<MergePart, PartitionReader<T>> joint;
    private NativePartition.Run run; // null while a merge is read together with its keys
    private String joined; // the segments of that
    private final ToLongFunction<T> rowsOf;
    private PartitionReader<T> reader;
    private long rows;

    /**
     * @param merged merges segments; null if none are merged
     * @param joint reads the rows of a merge together with its keys; null if they are read after the keys
     */
    ChainedReader(String table, NativePartition partition, MergedSegments merged, Function<MergePart, PartitionReader<T>> joint,
            ToLongFunction<T> rowsOf, Function<NativePartition.Run, PartitionReader<T>> open) {
        this.table = table;
        this.runs = partition.runs().iterator();
        this.merges = partition.merges().iterator();
        this.merged = merged;
        this.joint = joint;
        this.rowsOf = rowsOf;
        this.open = open;
    }

    @Override
    public boolean next() throws IOException {
        while (true) {
            if (reader == null && !open()) {
                return false;
            }
            if (advance()) {
                rows += expected() < 0 ? 0 : rowsOf.applyAsLong(reader.get());
                return true;
            }
            checkRows();
            close();
        }
    }

    /** Opens what is read next; false at the end. */
    private boolean open() {
        while (!runs.hasNext() && merges.hasNext()) {
            MergePart part = merges.next();
            if (joint != null && part.isJoint()) {
                run = null;
                joined = MergedSegments.names(part);
                reader = joint.apply(part);
                return true;
            }
            try {
                runs = merged.runs(part).iterator();
            } catch (RuntimeException e) {
                throw isMissing(e) ? missing(MergedSegments.names(part), e) : e;
            }
        }
        if (!runs.hasNext()) {
            return false;
        }
        run = runs.next();
        reader = open.apply(run);
        return true;
    }

    private long expected() {
        return run == null ? -1 : run.rows();
    }

    private boolean advance() throws IOException {
        try {
            return reader.next();
        } catch (Exception e) {
            if (isMissing(e)) {
                throw missing(files(), e);
            }
            throw e;
        }
    }

    private RuntimeException missing(String files, Exception e) {
        return Condition.TABLE_CORRUPT.error(table + ": a segment is missing, one of " + files
            + "; restore it, or read an older version with VERSION AS OF; if the version was expired and vacuumed "
            + "while the query ran, run it again: " + e.getMessage());
    }

    /** Checks a rewrite against the log: rows that it does not read would be lost. */
    private void checkRows() {
        if (expected() >= 0 && rows != expected()) {
            throw Condition.TABLE_CORRUPT.error(table + ": " + rows + " rows were read of " + files() + ", and the log says "
                + expected() + "; nothing was changed: restore the segments, or read an older version with "
                + "VERSION AS OF");
        }
        rows = 0;
    }

    private static boolean isMissing(Throwable error) {
        return error != null && (error instanceof FileNotFoundException || isMissing(error.getCause()));
    }

    private String files() {
        return run == null ? joined : Stream.of(run.files()).map(file -> file.filePath().toString()).collect(Collectors.joining(", "));
    }

    @Override
    public T get() {
        return reader.get();
    }

    @Override
    public void close() throws IOException {
        if (reader != null) {
            reader.close();
            reader = null;
        }
    }
}
