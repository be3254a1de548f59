package versioned.spark.internals;

import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.HadoopReadOptions;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.hadoop.util.HadoopStreams;
import org.apache.parquet.io.SeekableInputStream;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.parquet.OpenedParquetFooter;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFooterReader;
import org.apache.spark.sql.execution.datasources.parquet.ParquetOptions;
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetPartitionReaderFactory;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.SerializableConfiguration;
import scala.Option;

/** Makes Spark's readers of segments. An executor keeps the footers that its readers of batches have parsed. */
final class SegmentReaders extends ParquetPartitionReaderFactory {
    /** Column chunks of the footers that are kept: some 20 MB. */
    private static final long MOST_CHUNKS = 50_000;

    private static final Cache<Part, ParquetMetadata> KEPT = CacheBuilder.newBuilder().concurrencyLevel(4)
        .maximumWeight(MOST_CHUNKS).<Part, ParquetMetadata>weigher((part, footer) -> chunks(footer)).build();

    private boolean readsBatches;

    /** A part of a file as it was found: a footer holds the row groups of the part. */
    private record Part(Path file, long bytes, long modified, long start, long length) {
        static Part of(FileStatus file, PartitionedFile part) {
            return new Part(file.getPath(), file.getLen(), file.getModificationTime(), part.start(), part.length());
        }
    }

    SegmentReaders(SQLConf conf, Broadcast<SerializableConfiguration> hadoop, StructType columns, StructType constants,
            Filter[] filters, ParquetOptions options) {
        super(conf, hadoop, columns, columns, constants, filters, Option.empty(), options);
    }

    private static int chunks(ParquetMetadata footer) {
        return 1 + footer.getBlocks().stream().mapToInt(block -> block.getColumns().size()).sum();
    }

    @Override
    public PartitionReader<ColumnarBatch> buildColumnarReader(PartitionedFile file) {
        readsBatches = true;
        return super.buildColumnarReader(file);
    }

    /** Opens a file. Of readers of rows, some skip the row groups of a footer, so that theirs is not kept. */
    @Override
    public OpenedParquetFooter org$apache$spark$sql$execution$datasources$v2$parquet$ParquetPartitionReaderFactory$$openFileAndReadFooter(
            PartitionedFile file) {
        if (!readsBatches) {
            return super.org$apache$spark$sql$execution$datasources$v2$parquet$ParquetPartitionReaderFactory$$openFileAndReadFooter(file);
        }
        try {
            return open(file, broadcastedConf().value().value());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static OpenedParquetFooter open(PartitionedFile part, Configuration hadoop) throws IOException {
        Path path = part.toPath();
        FileSystem files = path.getFileSystem(hadoop);
        FileStatus status = files.getFileStatus(path);
        HadoopInputFile file = HadoopInputFile.fromStatus(status, hadoop);
        // A local segment has no file of checksums, for which Hadoop would look.
        SeekableInputStream stream = files instanceof LocalFileSystem local ? HadoopStreams.wrap(local.getRaw().open(path)) : file.newStream();
        try {
            return new OpenedParquetFooter(footer(Part.of(status, part), file, stream, part, hadoop), file, Optional.of(stream));
        } catch (IOException | RuntimeException e) {
            stream.close();
            throw e;
        }
    }

    private static ParquetMetadata footer(Part key, HadoopInputFile file, SeekableInputStream stream, PartitionedFile part,
            Configuration hadoop) throws IOException {
        ParquetMetadata kept = KEPT.getIfPresent(key);
        if (kept != null) {
            return kept;
        }
        ParquetReadOptions options = HadoopReadOptions.builder(hadoop, file.getPath())
            .withMetadataFilter(ParquetFooterReader.buildFilter(hadoop, part, false)).build();
        try (ParquetFileReader reader = ParquetFileReader.open(file, options, stream)) {
            ParquetMetadata footer = reader.getFooter();
            reader.detachFileInputStream();
            KEPT.put(key, footer);
            return footer;
        }
    }
}
