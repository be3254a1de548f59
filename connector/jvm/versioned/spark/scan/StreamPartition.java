package versioned.spark.scan;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** What one task reads of a micro-batch, with the factory of that batch: Spark asks for factories without naming one. */
record StreamPartition(InputPartition partition, PartitionReaderFactory factory) implements InputPartition {
    @Override
    public String[] preferredLocations() {
        return partition.preferredLocations();
    }

    /** Makes the readers of any batch. */
    record Factory() implements PartitionReaderFactory {
        @Override
        public boolean supportColumnarReads(InputPartition partition) {
            return of(partition).factory.supportColumnarReads(of(partition).partition);
        }

        @Override
        public PartitionReader<InternalRow> createReader(InputPartition partition) {
            return of(partition).factory.createReader(of(partition).partition);
        }

        @Override
        public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
            return of(partition).factory.createColumnarReader(of(partition).partition);
        }

        private static StreamPartition of(InputPartition partition) {
            return (StreamPartition) partition;
        }
    }
}
