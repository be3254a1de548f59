package versioned.spark.write;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;

/** The rows of a DELETE, UPDATE or MERGE by copy on write, written by Python. */
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
            return new Writer(python.createWriter(partition, task), schema, projection == null ? null : projection.task());
        }
    }

    private static final class Writer extends KeptRows {
        private final StoredProjection.Task projection;

        Writer(DataWriter<InternalRow> python, StructType schema, StoredProjection.Task projection) {
            super(python, schema);
            this.projection = projection;
        }

        @Override
        public void write(InternalRow row) {
            keep(projection == null ? row : projection.insert(row));
        }

        @Override
        public void write(InternalRow metadata, InternalRow row) {
            keep(projection == null ? row : projection.replace(metadata, row));
        }
    }
}
