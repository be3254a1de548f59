package versioned.spark.write;

import java.io.IOException;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import versioned.spark.internals.SparkParquetWriting;
import versioned.spark.protocol.PartitionSource;
import versioned.spark.protocol.WrittenSegment;

/**
 * Writes the rows of a task, which come partition by partition: a segment for each partition, and another when one is full.
 * One segment is open at a time; if rows come in another order, each run of a partition gets a segment.
 */
final class TaskWriter implements DataWriter<InternalRow> {
    /** The segments that a task wrote. */
    record Written(List<WrittenSegment> segments) implements WriterCommitMessage {}

    /**
     * Makes a task's writer.
     *
     * @param projection of the rows to the stored columns; null if they are that
     * @param numbers of the rows in identity columns; null without such columns
     */
    record Factory(SparkParquetWriting writing, String location, String prefix, long targetBytes,
            List<PartitionSource> partitioning, StoredProjection projection, Numbers.ForTasks numbers) implements DataWriterFactory {
        @Override
        public DataWriter<InternalRow> createWriter(int partition, long task) {
            return new TaskWriter(this, partition);
        }
    }

    private final Factory factory;
    private final SparkParquetWriting.Files files;
    private final PartitionKey key;
    private final StoredProjection.Task projection;
    private final Numbers.Task numbers;
    private final FinishedSegments finished = new FinishedSegments();
    private List<String> partition;
    private OpenSegment open;
    private OpenSegment latest;

    TaskWriter(Factory factory, int task) {
        this.factory = factory;
        this.files = factory.writing().files();
        this.key = new PartitionKey(factory.partitioning(), factory.writing().schema());
        this.projection = factory.projection() == null ? null : factory.projection().task();
        this.numbers = factory.numbers() == null ? null : factory.numbers().of(task);
    }

    @Override
    public void write(InternalRow row) throws IOException {
        store(projection == null ? row : projection.insert(row));
    }

    @Override
    public void write(InternalRow metadata, InternalRow row) throws IOException {
        store(projection == null ? row : projection.replace(metadata, row));
    }

    private void store(InternalRow given) throws IOException {
        InternalRow row = numbers == null ? given : numbers.numbered(given);
        List<String> values = key.of(row);
        if (open != null && !values.equals(partition)) {
            finish();
        }
        if (open == null) {
            open = latest = new OpenSegment(factory, files, values);
            partition = values;
        }
        open.write(row);
        if (open.isFull()) {
            finish();
        }
    }

    private void finish() throws IOException {
        OpenSegment ended = open;
        open = null;
        finished.add(ended);
    }

    @Override
    public WriterCommitMessage commit() throws IOException {
        List<WrittenSegment> segments = open == null ? finished.all() : finished.allWith(open);
        if (latest != null) {
            latest.syncFolder();
        }
        return new Written(segments);
    }

    @Override
    public void abort() throws IOException {
        if (open != null) {
            open.abandon();
        }
    }

    @Override
    public void close() {
        finished.close();
    }
}
