package versioned.spark.scan;

import java.io.IOException;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.ProjectingInternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.collection.mutable.ArrayBuffer;

/** Readers with their columns in another order, and some in narrower types. */
final class Reordered {
    private Reordered() {}

    private static boolean isInOrder(int columns, int[] order, Narrowing[] narrowed, RowNumbers[] computed) {
        if (columns != order.length) {
            return false; // positions are read, and not wanted
        }
        for (int i = 0; i < order.length; i++) {
            if (order[i] != i) {
                return false;
            }
        }
        return !isNarrowed(narrowed) && !isComputed(computed);
    }

    private static boolean isNarrowed(Narrowing[] narrowed) {
        return Stream.of(narrowed).anyMatch(one -> one != null);
    }

    private static boolean isComputed(RowNumbers[] computed) {
        return Stream.of(computed).anyMatch(one -> one != null);
    }

    /**
     * Reorders rows.
     *
     * @param columns number of columns that the reader yields
     * @param narrowed for each wanted column, how it is narrowed; null if it is shown as it is read
     * @param computed for each, how a row ID is computed; null if it is read
     */
    static PartitionReader<InternalRow> rows(PartitionReader<InternalRow> reader, int columns, int[] order,
            Narrowing[] narrowed, RowNumbers[] computed, StructType wanted) {
        if (isInOrder(columns, order, narrowed, computed)) {
            return reader;
        }
        return isNarrowed(narrowed) || isComputed(computed) ? changedRows(reader, order, narrowed, computed, wanted)
            : orderedRows(reader, order, wanted);
    }

    private static PartitionReader<InternalRow> orderedRows(PartitionReader<InternalRow> reader, int[] order,
            StructType wanted) {
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

    private static PartitionReader<InternalRow> changedRows(PartitionReader<InternalRow> reader, int[] order,
            Narrowing[] narrowed, RowNumbers[] computed, StructType wanted) {
        return new Reader<>(reader) {
            @Override
            public InternalRow get() {
                InternalRow row = reader.get();
                Object[] values = new Object[order.length];
                for (int i = 0; i < values.length; i++) {
                    if (computed[i] != null) {
                        values[i] = computed[i].value(row);
                        continue;
                    }
                    Narrowing narrow = narrowed[i];
                    Object value = row.isNullAt(order[i]) ? null
                        : row.get(order[i], narrow == null ? wanted.fields()[i].dataType() : narrow.stored());
                    values[i] = narrow == null ? value : narrow.value(value);
                }
                return new GenericInternalRow(values);
            }
        };
    }

    static PartitionReader<ColumnarBatch> batches(PartitionReader<ColumnarBatch> reader, int columns, int[] order,
            Narrowing[] narrowed, RowNumbers[] computed) {
        if (isInOrder(columns, order, narrowed, computed)) {
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
                        ColumnVector column = batch.column(order[i]);
                        columns[i] = computed[i] != null ? new RowNumberVector(batch, computed[i])
                            : narrowed[i] == null ? column : new NarrowedVector(column, narrowed[i]);
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
