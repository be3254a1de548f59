package versioned.spark.scan;

import java.io.IOException;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** The rows of a segment and their keys, from one reader: a merge hides rows of a batch before the batch is shown. */
final class JointRows {
    private final SegmentReaderFactory.Way way;
    private final int wanted;
    private final int[] keyPlaces;
    private final PartitionedFile file;
    private PartitionReader<ColumnarBatch> stored;
    private PartitionReader<ColumnarBatch> shown;
    private long first; // the position of the first row of the batch
    private int rows;
    private int[] hidden = new int[0];
    private int count;
    private ShownRows kept = new ShownRows(0);

    /**
     * @param wanted number of the wanted columns, the first ones
     * @param keyPlaces the places of the key columns, and of the sequence
     */
    JointRows(SegmentReaderFactory.Way way, int wanted, int[] keyPlaces, PartitionedFile file) {
        this.way = way;
        this.wanted = wanted;
        this.keyPlaces = keyPlaces;
        this.file = file;
    }

    /** A reader of the keys, which moves on to the next batch, or closes, also what is shown. */
    PartitionReader<ColumnarBatch> open() {
        stored = way.stored(new PartitionedFile[] {file});
        shown = way.first(stored, wanted);
        PartitionReader<ColumnarBatch> keys = way.ofPlaces(stored, keyPlaces);
        return new PartitionReader<>() {
            @Override
            public boolean next() throws IOException {
                first += rows;
                count = 0;
                boolean found = keys.next();
                rows = found ? stored.get().numRows() : 0;
                return found;
            }

            @Override
            public ColumnarBatch get() {
                return keys.get();
            }

            @Override
            public void close() throws IOException {
                keys.close();
            }
        };
    }

    /** Hides a row of the batch; rows are hidden in their order. */
    void hide(long position) {
        if (hidden.length < rows) {
            hidden = new int[rows];
        }
        hidden[count++] = (int) (position - first);
    }

    /** The rows of the batch that are shown, if all are decided. Its keys are not valid any more. */
    ColumnarBatch shown() {
        if (count > 0) {
            int left = keep();
            kept.move(stored.get(), left);
        }
        return shown.get();
    }

    private int keep() {
        if (kept.indexes().length < rows) {
            kept = new ShownRows(rows);
        }
        int[] indexes = kept.indexes();
        int found = 0;
        int row = 0;
        for (int i = 0; i < count; i++, row++) {
            while (row < hidden[i]) {
                indexes[found++] = row++;
            }
        }
        while (row < rows) {
            indexes[found++] = row++;
        }
        return found;
    }
}
