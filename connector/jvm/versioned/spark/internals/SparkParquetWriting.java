package versioned.spark.internals;

import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.api.WriteSupport;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.io.OutputFile;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.Type;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.parquet.ParquetWriteSupport;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;
import versioned.spark.protocol.HadoopFolder;

/**
 * Spark's Parquet writer for segments, with fixed settings. It is sent to executors.
 *
 * @param conf Hadoop's configuration
 * @param schema the columns by physical name, with IDs
 * @param ids column IDs of elements, keys and values by their dotted path in Parquet, where Spark writes none
 * @param footer key-value metadata of the file
 * @param shreds whether variants are shredded, by the first rows of each file
 */
public record SparkParquetWriting(Broadcast<SerializableConfiguration> conf, StructType schema,
        Map<String, Integer> ids, Map<String, String> footer, boolean shreds) implements Serializable {

    /** Settings that must not depend on the session. */
    private static final Map<String, String> FIXED = Map.of(
        "spark.sql.parquet.datetimeRebaseModeInWrite", "CORRECTED",
        "spark.sql.parquet.fieldId.write.enabled", "true",
        "spark.sql.parquet.int96RebaseModeInWrite", "CORRECTED",
        "spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS",
        "spark.sql.parquet.writeLegacyFormat", "false");

    /** The writer of a table's folder; on the driver. */
    public static SparkParquetWriting of(HadoopFolder folder, StructType schema, Map<String, Integer> ids,
            Map<String, String> footer, boolean shreds) {
        Configuration hadoop = HadoopFolders.configuration(folder);
        SparkParquetConf.fix(SQLConf.get().clone(), hadoop, FIXED);
        return new SparkParquetWriting(
            SerializableConfiguration.broadcast(SparkSession.active().sparkContext(), hadoop), schema,
            new HashMap<>(ids), new HashMap<>(footer), shreds);
    }

    /** The files of a task; on an executor. */
    public Files files() {
        return new Files();
    }

    /** Opens the files of one task. Settings are copied once, since a task may write many small files. */
    public final class Files {
        private final Configuration hadoop = new Configuration(conf.value().value());
        private final SQLConf fixed = new SQLConf();

        private Files() {
            ParquetWriteSupport.setSchema(schema, hadoop);
            FIXED.forEach(fixed::setConfString);
        }

        /** A file by its URL. */
        public SegmentFile at(String url) {
            return SegmentFile.of(url, hadoop);
        }

        /** Opens a file to write rows to. */
        public RowWriter open(SegmentFile file) throws IOException {
            return shreds ? new ShreddingWriter(schema, fixed, shredded -> open(file, shredded)) : open(file, hadoop);
        }

        private RowWriter open(SegmentFile file, StructType shredded) throws IOException {
            Configuration of = new Configuration(hadoop);
            ParquetWriteSupport.setShreddingSchema(shredded, of);
            return open(file, of);
        }

        private RowWriter open(SegmentFile file, Configuration hadoop) throws IOException {
            Builder builder = new Builder(file.output());
            // Spark's writer reads the session's settings when it is created, also on executors.
            return SQLConf.withExistingConf(fixed, () -> {
                try {
                    return RowWriter.of(builder.withConf(hadoop).withCompressionCodec(CompressionCodecName.ZSTD).build());
                } catch (IOException e) {
                    throw new java.io.UncheckedIOException(e);
                }
            });
        }
    }

    private final class Builder extends ParquetWriter.Builder<InternalRow, Builder> {
        Builder(OutputFile file) {
            super(file);
        }

        @Override
        protected Builder self() {
            return this;
        }

        @Override
        protected WriteSupport<InternalRow> getWriteSupport(Configuration hadoop) {
            return new Support();
        }
    }

    private final class Support extends ParquetWriteSupport {
        @Override
        public WriteContext init(Configuration hadoop) {
            WriteContext context = super.init(hadoop);
            Map<String, String> metadata = new HashMap<>(context.getExtraMetaData());
            metadata.putAll(footer);
            MessageType message = context.getSchema();
            return new WriteContext(new MessageType(message.getName(), withIds(message, "")), metadata);
        }
    }

    private List<Type> withIds(GroupType group, String above) {
        List<Type> fields = new ArrayList<>();
        for (Type field : group.getFields()) {
            String path = above + field.getName();
            Type inner = field.isPrimitive() ? field
                : field.asGroupType().withNewFields(withIds(field.asGroupType(), path + "."));
            Integer id = ids.get(path);
            fields.add(id == null ? inner : inner.withId(id));
        }
        return fields;
    }
}
