package versioned.spark.scan;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.ProjectingInternalRow;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.collection.mutable.ArrayBuffer;

/** Readers with their columns in another order. */
final class Reordered {
    private Reordered() {}

    private static boolean isInOrder(int[] order) {
        for (int i = 0; i < order.length; i++) {
            if (order[i] != i) {
                return false;
            }
        }
        return true;
    }

    static PartitionReader<InternalRow> rows(PartitionReader<InternalRow> reader, int[] order, StructType wanted) {
        if (isInOrder(order)) {
            return reader;
        }
        ArrayBuffer<Object> places = new ArrayBuffer<>();
        for (int place : order) {
            places.append(place);
        }
        ProjectingInternalRow row = new ProjectingInternalRow(wanted, places.toIndexedSeq());
        return new Reader<>(reader) {
            @Override
            public InternalRow get() {
                row.project(reader.get());
                return row;
            }
        };
    }

    static PartitionReader<ColumnarBatch> batches(PartitionReader<ColumnarBatch> reader, int[] order) {
        if (isInOrder(order)) {
            return reader;
        }
        return new Reader<>(reader) {
            private ColumnarBatch source;
            private ColumnarBatch ordered;

            @Override
            public ColumnarBatch get() {
                ColumnarBatch batch = reader.get();
                if (batch != source) { // Spark fills one batch again and again
                    ColumnVector[] columns = new ColumnVector[order.length];
                    for (int i = 0; i < order.length; i++) {
                        columns[i] = batch.column(order[i]);
                    }
                    source = batch;
                    ordered = new ColumnarBatch(columns);
                }
                ordered.setNumRows(batch.numRows());
                return ordered;
            }
        };
    }

    private abstract static class Reader<T> implements PartitionReader<T> {
        private final PartitionReader<T> reader;

        Reader(PartitionReader<T> reader) {
            this.reader = reader;
        }

        @Override
        public boolean next() throws IOException {
            return reader.next();
        }

        @Override
        public void close() throws IOException {
            reader.close();
        }
    }
}
