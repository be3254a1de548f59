package versioned.spark.write;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.DeltaBatchWrite;
import org.apache.spark.sql.connector.write.DeltaWrite;
import org.apache.spark.sql.connector.write.DeltaWriter;
import org.apache.spark.sql.connector.write.DeltaWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import versioned.spark.internals.SparkRows;

/**
 * The changes of a DELETE, UPDATE or MERGE of a table with a primary key, written by Python. They are kept to the
 * end of a task; see {@link RewriteInPython}.
 */
record DeltaRows(BatchWrite python, DeltaLayout layout, RowDistribution distribution)
        implements DeltaWrite, DeltaBatchWrite, DistributedWrite {
    @Override
    public DeltaBatchWrite toBatch() {
        return this;
    }

    @Override
    public String description() {
        return "VersionedDelta " + layout.table();
    }

    @Override
    public DeltaWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
        return new Factory(python.createBatchWriterFactory(info), layout);
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {
        python.commit(messages);
    }

    @Override
    public void abort(WriterCommitMessage[] messages) {
        python.abort(messages);
    }

    private record Factory(DataWriterFactory python, DeltaLayout layout) implements DeltaWriterFactory {
        @Override
        public DeltaWriter<InternalRow> createWriter(int partition, long task) {
            return new Writer(python.createWriter(partition, task), layout, layout.task(), new SparkRows(layout.written()));
        }
    }

    private record Writer(DataWriter<InternalRow> python, DeltaLayout layout, DeltaLayout.Task changes, SparkRows rows)
            implements DeltaWriter<InternalRow> {
        @Override
        public void insert(InternalRow row) {
            rows.add(changes.insert(row));
        }

        @Override
        public void update(InternalRow metadata, InternalRow id, InternalRow row) {
            layout.checkKey(id, row);
            rows.add(changes.update(metadata, row));
        }

        @Override
        public void delete(InternalRow metadata, InternalRow id) {
            rows.add(changes.delete(id));
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
