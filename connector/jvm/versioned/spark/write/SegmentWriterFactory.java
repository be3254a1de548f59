package versioned.spark.write;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import versioned.spark.internals.SparkParquetWriting;
import versioned.spark.protocol.PartitionSource;

/**
 * Makes a task's writer.
 *
 * @param projection of the rows to the stored columns; null if they are that
 */
record SegmentWriterFactory(SparkParquetWriting writing, String location, String prefix, long targetBytes,
        List<PartitionSource> partitioning, StoredProjection projection) implements DataWriterFactory {
    @Override
    public DataWriter<InternalRow> createWriter(int partition, long task) {
        return new TaskWriter(this);
    }
}
