package versioned.spark.internals;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.datasources.parquet.InferVariantShreddingSchema;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/** Writes rows with shredded variants: the file begins when its first rows have shown which fields are common. */
final class ShreddingWriter implements RowWriter {
    private static final int MOST_ROWS = 4096;
    private static final long MOST_BYTES = 64L << 20;

    /** Opens a file whose variants are shredded as a schema says. */
    @FunctionalInterface
    interface Opener {
        RowWriter open(StructType shredded) throws IOException;
    }

    private final StructType schema;
    private final SQLConf conf;
    private final Opener opener;
    private final List<InternalRow> first = new ArrayList<>();
    private UnsafeProjection unsafe;
    private long bytes;
    private RowWriter writer; // null until the file begins

    /** @param conf the settings of Spark's inference */
    ShreddingWriter(StructType schema, SQLConf conf, Opener opener) {
        this.schema = schema;
        this.conf = conf;
        this.opener = opener;
    }

    @Override
    public void write(InternalRow row) throws IOException {
        if (writer != null) {
            writer.write(row);
            return;
        }
        UnsafeRow kept = (row instanceof UnsafeRow found ? found : unsafe(row)).copy();
        first.add(kept);
        bytes += kept.getSizeInBytes();
        if (first.size() >= MOST_ROWS || bytes >= MOST_BYTES) {
            begin();
        }
    }

    private UnsafeRow unsafe(InternalRow row) {
        if (unsafe == null) {
            unsafe = UnsafeProjection.create(schema);
        }
        return unsafe.apply(row);
    }

    private void begin() throws IOException {
        StructType shredded = SQLConf.withExistingConf(conf,
            () -> new InferVariantShreddingSchema(schema).inferSchema(CollectionConverters.asScala(first).toSeq()));
        writer = opener.open(shredded);
        for (InternalRow row : first) {
            writer.write(row);
        }
        first.clear();
    }

    @Override
    public long dataSize() {
        return writer == null ? 0 : writer.dataSize();
    }

    @Override
    public void close() throws IOException {
        if (writer == null) {
            begin();
        }
        writer.close();
    }

    @Override
    public void abandon() throws IOException {
        if (writer != null) {
            writer.abandon();
        }
    }
}
