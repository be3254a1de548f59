package versioned.spark.write;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** Writes the rows of a task: a segment a partition, and another where one is full. */
final class TaskWriter implements DataWriter<InternalRow> {
    /** Each open segment buffers a row group; the one not written to for longest is finished first. */
    private static final int MOST_OPEN = 32;

    private final SegmentWriterFactory factory;
    private final PartitionKey key;
    private final Map<List<String>, OpenSegment> open = new LinkedHashMap<>(16, 0.75f, true);
    private final List<WrittenSegments.Segment> done = new ArrayList<>();
    private OpenSegment single;

    TaskWriter(SegmentWriterFactory factory) {
        this.factory = factory;
        this.key = new PartitionKey(factory.partitioning(), factory.writing().schema());
    }

    @Override
    public void write(InternalRow row) throws IOException {
        if (factory.partitioning().isEmpty()) {
            single = written(single == null ? new OpenSegment(factory, List.of()) : single, row);
            return;
        }
        List<String> values = key.of(row);
        OpenSegment segment = open.remove(values);
        if (segment == null) {
            makeRoom();
            segment = new OpenSegment(factory, values);
        }
        OpenSegment after = written(segment, row);
        if (after != null) {
            open.put(values, after);
        }
    }

    /** The segment, or null if it is full now. */
    private OpenSegment written(OpenSegment segment, InternalRow row) throws IOException {
        segment.write(row);
        if (!segment.isFull()) {
            return segment;
        }
        done.add(segment.finish());
        return null;
    }

    private void makeRoom() throws IOException {
        if (open.size() >= MOST_OPEN) {
            List<String> oldest = open.keySet().iterator().next();
            done.add(open.remove(oldest).finish());
        }
    }

    @Override
    public WriterCommitMessage commit() throws IOException {
        if (single != null) {
            done.add(single.finish());
        }
        for (OpenSegment segment : open.values()) {
            done.add(segment.finish());
        }
        return new WrittenSegments(done);
    }

    @Override
    public void abort() throws IOException {
        if (single != null) {
            single.abandon();
        }
        for (OpenSegment segment : open.values()) {
            segment.abandon();
        }
    }

    @Override
    public void close() {
        // Nothing is open after commit or abort.
    }
}
