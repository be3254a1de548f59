package versioned.spark.scan;

import java.io.IOException;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** The shown rows of overlapping segments of distinct keys, a batch as soon as all of its rows are decided. */
final class MergedBatches implements PartitionReader<ColumnarBatch> {
    private final KeyMerge merge;
    private final JointRows[] rows;
    private final String names;
    private ColumnarBatch batch;

    /** @param names the segments, for errors */
    MergedBatches(KeyMerge merge, JointRows[] rows, String names) {
        this.merge = merge;
        this.rows = rows;
        this.names = names;
    }

    @Override
    public boolean next() throws IOException {
        try {
            return advance();
        } catch (IOException e) {
            throw new IOException("can't merge " + names + ": " + e.getMessage(), e);
        }
    }

    private boolean advance() throws IOException {
        do {
            if (batch != null) {
                merge.load();
            }
            int segment = merge.next();
            if (segment < 0) {
                return false;
            }
            merge.decide();
            batch = rows[segment].shown();
        } while (batch.numRows() == 0);
        return true;
    }

    @Override
    public ColumnarBatch get() {
        return batch;
    }

    @Override
    public void close() throws IOException {
        merge.close();
    }
}
