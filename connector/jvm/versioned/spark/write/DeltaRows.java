package versioned.spark.write;

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

/** The changes of a DELETE, UPDATE or MERGE of a table with a primary key, written by Python. */
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
            return new Writer(python.createWriter(partition, task), layout);
        }
    }

    private static final class Writer extends KeptRows implements DeltaWriter<InternalRow> {
        private final DeltaLayout layout;
        private final DeltaLayout.Task changes;

        Writer(DataWriter<InternalRow> python, DeltaLayout layout) {
            super(python, layout.written());
            this.layout = layout;
            this.changes = layout.task();
        }

        @Override
        public void insert(InternalRow row) {
            keep(changes.insert(row));
        }

        @Override
        public void update(InternalRow metadata, InternalRow id, InternalRow row) {
            layout.checkKey(id, row);
            keep(changes.update(metadata, row));
        }

        @Override
        public void delete(InternalRow metadata, InternalRow id) {
            keep(changes.delete(id));
        }
    }
}
