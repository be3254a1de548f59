package versioned.spark.write;

import static versioned.spark.python.PythonErrors.show;
import static versioned.spark.python.PythonErrors.shown;

import java.io.IOException;
import java.util.Iterator;
import java.util.function.Consumer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/**
 * A write that Python carries out, whose errors are shown as they are.
 *
 * @param python the write as Spark has it
 * @param rows the same for a batch of rows
 * @param committer who lets it commit
 */
record ShownWrite(Write python, BatchWrite rows, Consumer<Runnable> committer) implements Write, BatchWrite {
    static ShownWrite of(Write python, Consumer<Runnable> committer) {
        return new ShownWrite(python, python.toBatch(), committer);
    }

    @Override
    public String description() {
        return python.description();
    }

    @Override
    public BatchWrite toBatch() {
        return this;
    }

    @Override
    public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
        return new Factory(shown(() -> rows.createBatchWriterFactory(info)));
    }

    @Override
    public boolean useCommitCoordinator() {
        return rows.useCommitCoordinator();
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {
        committer.accept(() -> show(() -> rows.commit(messages)));
    }

    @Override
    public void abort(WriterCommitMessage[] messages) {
        show(() -> rows.abort(messages));
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
            show(() -> python.write(row));
        }

        @Override
        public void writeAll(Iterator<InternalRow> rows) {
            show(() -> python.writeAll(rows));
        }

        @Override
        public WriterCommitMessage commit() {
            return shown(python::commit);
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
