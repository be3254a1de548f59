package versioned.spark.scan;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import static versioned.spark.python.VersionedException.translated;

/** Reads that Python carries out, with their errors translated. */
record TranslatingReads(PartitionReaderFactory python) implements PartitionReaderFactory {
    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
        return new Reader<>(translated(() -> python.createReader(partition)));
    }

    @Override
    public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
        return new Reader<>(translated(() -> python.createColumnarReader(partition)));
    }

    @Override
    public boolean supportColumnarReads(InputPartition partition) {
        return python.supportColumnarReads(partition);
    }

    private record Reader<T>(PartitionReader<T> python) implements PartitionReader<T> {
        @Override
        public boolean next() {
            return translated(python::next);
        }

        @Override
        public T get() {
            return python.get();
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
