package versioned.spark.write;

import java.io.IOException;
import java.util.Iterator;
import java.util.function.Consumer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import static versioned.spark.python.VersionedException.translate;
import static versioned.spark.python.VersionedException.translated;

/** A write that Python carries out, with its errors translated; the committer runs its commit. */
record TranslatingWrite(Write python, BatchWrite rows, Consumer<Runnable> committer) implements Write, BatchWrite {
    static TranslatingWrite of(Write python, Consumer<Runnable> committer) {
        return new TranslatingWrite(python, python.toBatch(), committer);
    }

    @Override
    public String description() {
        return python.description();
    }

    @Override
    public CustomMetric[] supportedCustomMetrics() {
        return python.supportedCustomMetrics();
    }

    @Override
    public BatchWrite toBatch() {
        return this;
    }

    @Override
    public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
        return new Factory(translated(() -> rows.createBatchWriterFactory(info)));
    }

    @Override
    public boolean useCommitCoordinator() {
        return rows.useCommitCoordinator();
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {
        committer.accept(() -> translate(() -> rows.commit(messages)));
    }

    @Override
    public void abort(WriterCommitMessage[] messages) {
        translate(() -> rows.abort(messages));
    }

    private record Factory(DataWriterFactory python) implements DataWriterFactory {
        @Override
        public DataWriter<InternalRow> createWriter(int partition, long task) {
            return new Writer(python.createWriter(partition, task));
        }
    }

    private record Writer(DataWriter<InternalRow> python) implements DataWriter<InternalRow> {
        @Override
        public void write(InternalRow row) {
            translate(() -> python.write(row));
        }

        @Override
        public void writeAll(Iterator<InternalRow> rows) {
            translate(() -> python.writeAll(rows));
        }

        @Override
        public WriterCommitMessage commit() {
            return translated(python::commit);
        }

        @Override
        public void abort() throws IOException {
            python.abort();
        }

        @Override
        public CustomTaskMetric[] currentMetricsValues() {
            return python.currentMetricsValues();
        }

        @Override
        public void close() throws IOException {
            python.close();
        }
    }
}
