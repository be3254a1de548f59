package versioned.spark.internals;

import java.io.IOException;
import org.apache.hadoop.fs.Path;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.execution.RowToColumnConverter;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** How Spark names, sizes and splits files. */
public final class SparkFiles {
    private static final int BATCH_ROWS = 4096;

    private SparkFiles() {}

    /** The cost of opening a file, in bytes. */
    public static long openCost() {
        return SQLConf.get().filesOpenCostInBytes();
    }

    /** The target size of a task's splits, of {@code total} bytes. */
    public static long targetBytes(long total) {
        SQLConf conf = SQLConf.get();
        int cores = SparkSession.active().leafNodeDefaultParallelism();
        long tasks = conf.filesMinPartitionNum().isDefined() ? (Integer) conf.filesMinPartitionNum().get() : cores;
        return Math.min(conf.filesMaxPartitionBytes(), Math.max(conf.filesOpenCostInBytes(), total / Math.max(1, tasks)));
    }

    /** Whether it costs little to read files of so many bytes in at least so many tasks. */
    public static boolean isCheap(int tasks, long bytes) {
        return tasks <= 2L * SparkSession.active().leafNodeDefaultParallelism() || tasks * 4L * openCost() <= bytes;
    }

    /** A split of a file, with the values of its constant columns. */
    public static PartitionedFile part(InternalRow constants, String path, long start, long length, long size) {
        return new PartitionedFile(constants, SparkPath.fromPath(new Path(path)), start, length, new String[0],
            0L, size, scala.collection.immutable.Map$.MODULE$.empty());
    }

    /** A part of a file, with other constants. */
    public static PartitionedFile part(InternalRow constants, PartitionedFile file, long start, long length) {
        return new PartitionedFile(constants, file.filePath(), start, length, new String[0], 0L, file.fileSize(),
            scala.collection.immutable.Map$.MODULE$.empty());
    }

    /** A type with plain strings, which have the form of collated ones: Spark's converter does not know these. */
    private static DataType withoutCollations(DataType type) {
        if (type instanceof StructType struct) {
            StructType plain = new StructType();
            for (StructField field : struct.fields()) {
                plain = plain.add(field.name(), withoutCollations(field.dataType()), field.nullable());
            }
            return plain;
        }
        if (type instanceof ArrayType array) {
            return DataTypes.createArrayType(withoutCollations(array.elementType()), array.containsNull());
        }
        if (type instanceof MapType map) {
            return DataTypes.createMapType(withoutCollations(map.keyType()), withoutCollations(map.valueType()),
                map.valueContainsNull());
        }
        return type instanceof StringType ? DataTypes.StringType : type;
    }

    /** Rows as batches of columns. */
    public static PartitionReader<ColumnarBatch> columns(PartitionReader<InternalRow> rows, StructType shown) {
        StructType schema = (StructType) withoutCollations(shown);
        return new PartitionReader<>() {
            private final RowToColumnConverter converter = new RowToColumnConverter(schema);
            private final OnHeapColumnVector[] vectors = OnHeapColumnVector.allocateColumns(BATCH_ROWS, schema);
            private final ColumnarBatch batch = new ColumnarBatch(vectors);

            @Override
            public boolean next() throws IOException {
                for (OnHeapColumnVector vector : vectors) {
                    vector.reset();
                }
                int count = 0;
                while (count < BATCH_ROWS && rows.next()) {
                    converter.convert(rows.get(), vectors);
                    count++;
                }
                batch.setNumRows(count);
                return count > 0;
            }

            @Override
            public ColumnarBatch get() {
                return batch;
            }

            @Override
            public void close() throws IOException {
                batch.close();
                rows.close();
            }
        };
    }
}
