package versioned.spark.write;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.DeltaBatchWrite;
import org.apache.spark.sql.connector.write.DeltaWrite;
import org.apache.spark.sql.connector.write.DeltaWriter;
import org.apache.spark.sql.connector.write.DeltaWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteSummary;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import versioned.spark.internals.SparkPython;
import versioned.spark.protocol.CommitWrite;
import versioned.spark.protocol.Write;
import versioned.spark.protocol.WrittenSegment;
import versioned.spark.python.Commits;

/**
 * The changes of a DELETE, UPDATE or MERGE by marks. Deleted and updated rows are marked; new ones, and
 * updated ones as they become, are written as those of an INSERT.
 *
 * @param rows the write of rows; null for a DELETE
 * @param batch its tasks; they are committed here, together with the marks
 * @param metrics what it did
 * @param statement what the history shows of it
 */
record MarkingWrite(WriteTarget target, Write write, DistributedWrite rows, BatchWrite batch,
        WriteMetrics metrics, Statement statement)
        implements DeltaWrite, DeltaBatchWrite, DistributedWrite {
    /** What a task did; {@code written} is null if it writes no rows. */
    private record Marked(WriterCommitMessage written, MarkedPositions.Bytes marks)
            implements WriterCommitMessage {}

    @Override
    public DeltaBatchWrite toBatch() {
        return this;
    }

    @Override
    public String description() {
        return "VersionedMarks " + write.table().name()
            + (rows == null ? "" : ", rows by " + rows.description());
    }

    /** For plans, of which it is a part. */
    @Override
    public String toString() {
        return description();
    }

    /** Marks are united when they are committed, so rows that are only deleted stay where they are. */
    @Override
    public RowDistribution distribution() {
        return rows == null ? RowDistribution.NONE : rows.distribution();
    }

    @Override
    public CustomMetric[] supportedCustomMetrics() {
        return metrics.supported();
    }

    @Override
    public CustomTaskMetric[] reportDriverMetrics() {
        return metrics.values();
    }

    @Override
    public DeltaWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
        return new Factory(rows == null ? null : batch.createBatchWriterFactory(info));
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {
        commit(messages, null);
    }

    @Override
    public void commit(WriterCommitMessage[] messages, WriteSummary summary) {
        List<WrittenSegment> segments = new ArrayList<>();
        List<byte[]> byPython = new ArrayList<>();
        MarkedPositions marks = new MarkedPositions();
        for (WriterCommitMessage message : messages) {
            if (message instanceof Marked marked) {
                marks.add(marked.marks());
                if (marked.written() instanceof TaskWriter.Written written) {
                    segments.addAll(written.segments());
                } else if (marked.written() != null) {
                    byPython.add(SparkPython.pickled(marked.written()));
                }
            }
        }
        metrics.wrote(segments);
        metrics.marked(marks.count());
        Runnable commit = () -> target.runCommit(() -> metrics.committed(
            Commits.send(new CommitWrite(ended(summary), segments, byPython, marks.rows()))));
        if (batch instanceof VersionedWrite own) {
            own.numbers().commit(commit);
        } else {
            commit.run();
        }
    }

    private Write ended(WriteSummary summary) {
        return new Write(write.table(), write.mode(), write.operation(), write.filters(), write.ownRows(), write.removed(),
            write.batch(), write.changeColumn(), write.checked(), rows == null ? List.of() : rows.taken(),
            statement.effect(summary));
    }

    /** The commit may have landed before its response was lost, so no file is deleted; vacuum does. */
    @Override
    public void abort(WriterCommitMessage[] messages) {
        if (batch instanceof VersionedWrite own) {
            own.numbers().giveBack();
        }
    }

    private record Factory(DataWriterFactory rows) implements DeltaWriterFactory {
        @Override
        public DeltaWriter<InternalRow> createWriter(int partition, long task) {
            return new Writer(rows == null ? null : rows.createWriter(partition, task));
        }
    }

    private record Writer(DataWriter<InternalRow> rows, MarkedPositions marks)
            implements DeltaWriter<InternalRow> {
        Writer(DataWriter<InternalRow> rows) {
            this(rows, new MarkedPositions());
        }

        @Override
        public void delete(InternalRow metadata, InternalRow place) {
            marks.add(place.getUTF8String(0), place.getLong(1));
        }

        @Override
        public void update(InternalRow metadata, InternalRow place, InternalRow row) throws IOException {
            marks.add(place.getUTF8String(0), place.getLong(1));
            rows.write(metadata, row);
        }

        @Override
        public void insert(InternalRow row) throws IOException {
            rows.write(row);
        }

        @Override
        public WriterCommitMessage commit() throws IOException {
            return new Marked(rows == null ? null : rows.commit(), marks.bytes());
        }

        @Override
        public void abort() throws IOException {
            if (rows != null) {
                rows.abort();
            }
        }

        @Override
        public void close() throws IOException {
            if (rows != null) {
                rows.close();
            }
        }
    }
}
