package versioned.spark.scan;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.PartitionReader;
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
        return new Batches(reader, marked, at, null);
    }

    /** @param spans the positions of the rows, of which the reader skips none */
    static PartitionReader<ColumnarBatch> batches(PartitionReader<ColumnarBatch> reader, MarkedRows marked, RowSpans spans) {
        return new Batches(reader, marked, -1, spans.cursor());
    }

    private static final class Batches implements PartitionReader<ColumnarBatch> {
        private final PartitionReader<ColumnarBatch> reader;
        private final MarkedRows marked;
        private final int at;
        private final RowSpans.Cursor cursor; // null if a column has the positions
        private ShownRows kept = new ShownRows(0);
        private ColumnarBatch batch;

        Batches(PartitionReader<ColumnarBatch> reader, MarkedRows marked, int at, RowSpans.Cursor cursor) {
            this.reader = reader;
            this.marked = marked;
            this.at = at;
            this.cursor = cursor;
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
            if (rows == 0) {
                return;
            }
            long first = cursor == null ? all.column(at).getLong(0) : cursor.next(rows);
            long last = cursor == null ? all.column(at).getLong(rows - 1) : first + rows - 1;
            if (marked.from(first) > last) {
                return;
            }
            if (rows > kept.indexes().length) {
                kept = new ShownRows(rows);
            }
            int[] indexes = kept.indexes();
            kept.move(all, cursor == null ? marked.keep(all.column(at), rows, indexes) : marked.keep(first, rows, indexes));
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
