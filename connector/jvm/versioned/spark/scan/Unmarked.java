package versioned.spark.scan;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Readers of one segment without its deleted rows. */
final class Unmarked {
    private Unmarked() {}

    /** @param at the index of the column that holds the positions of rows */
    static PartitionReader<InternalRow> rows(PartitionReader<InternalRow> reader, MarkedRows marked, int at) {
        return new PartitionReader<>() {
            @Override
            public boolean next() throws IOException {
                while (reader.next()) {
                    if (!marked.contains(reader.get().getLong(at))) {
                        return true;
                    }
                }
                return false;
            }

            @Override
            public InternalRow get() {
                return reader.get();
            }

            @Override
            public void close() throws IOException {
                reader.close();
            }
        };
    }

    /** @param at the index of the column that holds the positions of rows */
    static PartitionReader<ColumnarBatch> batches(PartitionReader<ColumnarBatch> reader, MarkedRows marked, int at) {
        return new Batches(reader, marked, at);
    }

    private static final class Batches implements PartitionReader<ColumnarBatch> {
        private final PartitionReader<ColumnarBatch> reader;
        private final MarkedRows marked;
        private final int at;
        private ShownRows kept = new ShownRows(0);
        private ColumnarBatch batch;

        Batches(PartitionReader<ColumnarBatch> reader, MarkedRows marked, int at) {
            this.reader = reader;
            this.marked = marked;
            this.at = at;
        }

        @Override
        public boolean next() throws IOException {
            while (reader.next()) {
                batch = reader.get();
                hide(batch);
                if (batch.numRows() > 0) {
                    return true;
                }
            }
            return false;
        }

        private void hide(ColumnarBatch all) {
            int rows = all.numRows();
            ColumnVector positions = all.column(at);
            if (rows == 0 || marked.from(positions.getLong(0)) > positions.getLong(rows - 1)) {
                return;
            }
            if (rows > kept.indexes().length) {
                kept = new ShownRows(rows);
            }
            kept.move(all, marked.keep(positions, rows, kept.indexes()));
        }

        @Override
        public ColumnarBatch get() {
            return batch;
        }

        @Override
        public void close() throws IOException {
            reader.close();
        }
    }
}
