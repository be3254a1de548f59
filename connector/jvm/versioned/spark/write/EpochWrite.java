package versioned.spark.write;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;

/** One epoch of a stream: a write of its own, which Spark plans for each epoch. */
record EpochWrite(DistributedWrite write, long epoch) implements DistributedWrite {
    @Override
    public String description() {
        return write.description();
    }

    @Override
    public RowDistribution distribution() {
        return write.distribution();
    }

    @Override
    public StreamingWrite toStreaming() {
        return new Streaming(write.toBatch(), epoch);
    }

    private record Streaming(BatchWrite rows, long planned) implements StreamingWrite {
        @Override
        public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
            return new Factory(rows.createBatchWriterFactory(info));
        }

        @Override
        public boolean useCommitCoordinator() {
            return rows.useCommitCoordinator();
        }

        @Override
        public void commit(long epoch, WriterCommitMessage[] messages) {
            if (epoch != planned) {
                throw new IllegalStateException("epoch " + epoch + " was planned as " + planned);
            }
            rows.commit(messages);
        }

        @Override
        public void abort(long epoch, WriterCommitMessage[] messages) {
            rows.abort(messages);
        }
    }

    private record Factory(DataWriterFactory rows) implements StreamingDataWriterFactory {
        @Override
        public DataWriter<InternalRow> createWriter(int partition, long task, long epoch) {
            return rows.createWriter(partition, task);
        }
    }
}
