package versioned.spark.write;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;
import versioned.spark.internals.SparkRows;

/**
 * The rows of a DELETE, UPDATE or MERGE, written by Python. Spark writes these rows one by one, but the Python data source
 * takes all rows of a task together and silently drops single ones; so they are kept until the end of the task.
 */
record RewriteInPython(BatchWrite python, StructType schema, StoredProjection projection) implements Write, BatchWrite {
    /**
     * @param schema of the rows that Python takes
     * @param projection of Spark's rows to these; null if they are that
     */
    static Write of(Write python, StructType schema, StoredProjection projection) {
        return new RewriteInPython(python.toBatch(), schema, projection);
    }

    @Override
    public BatchWrite toBatch() {
        return this;
    }

    @Override
    public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
        return new Factory(python.createBatchWriterFactory(info), schema, projection);
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {
        python.commit(messages);
    }

    @Override
    public void abort(WriterCommitMessage[] messages) {
        python.abort(messages);
    }

    private record Factory(DataWriterFactory python, StructType schema, StoredProjection projection)
            implements DataWriterFactory {
        @Override
        public DataWriter<InternalRow> createWriter(int partition, long task) {
            return new Writer(python.createWriter(partition, task), new SparkRows(schema),
                projection == null ? null : projection.task());
        }
    }

    private record Writer(DataWriter<InternalRow> python, SparkRows rows, StoredProjection.Task projection)
            implements DataWriter<InternalRow> {
        @Override
        public void write(InternalRow row) {
            rows.add(projection == null ? row : projection.insert(row));
        }

        @Override
        public void write(InternalRow metadata, InternalRow row) {
            rows.add(projection == null ? row : projection.replace(metadata, row));
        }

        @Override
        public WriterCommitMessage commit() throws IOException {
            python.writeAll(rows.iterator());
            return python.commit();
        }

        @Override
        public void abort() throws IOException {
            python.abort();
        }

        @Override
        public void close() throws IOException {
            rows.clear();
            python.close();
        }
    }
}
