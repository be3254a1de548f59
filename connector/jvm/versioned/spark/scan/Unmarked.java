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
        private ColumnarBatch source;
        private int[] kept = {};
        private ColumnarBatch selected;
        private ColumnarBatch batch;

        Batches(PartitionReader<ColumnarBatch> reader, MarkedRows marked, int at) {
            this.reader = reader;
            this.marked = marked;
            this.at = at;
        }

        @Override
        public boolean next() throws IOException {
            while (reader.next()) {
                batch = unmarked(reader.get());
                if (batch.numRows() > 0) {
                    return true;
                }
            }
            return false;
        }

        private ColumnarBatch unmarked(ColumnarBatch all) {
            int rows = all.numRows();
            ColumnVector positions = all.column(at);
            if (rows == 0 || marked.from(positions.getLong(0)) > positions.getLong(rows - 1)) {
                return all;
            }
            if (all != source || rows > kept.length) { // Spark fills one batch again and again
                select(all, rows);
            }
            selected.setNumRows(marked.keep(positions, rows, kept));
            return selected;
        }

        private void select(ColumnarBatch all, int rows) {
            kept = new int[rows];
            ColumnVector[] columns = new ColumnVector[all.numCols()];
            for (int i = 0; i < columns.length; i++) {
                columns[i] = new SelectedVector(all.column(i), kept);
            }
            source = all;
            selected = new ColumnarBatch(columns);
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
