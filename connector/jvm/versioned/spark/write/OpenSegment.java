package versioned.spark.write;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.UUID;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.spark.sql.catalyst.InternalRow;

/** A segment in the making. Nobody sees it before a commit names it. */
final class OpenSegment {
    private static final int ROWS_BETWEEN_LOOKS = 4096;
    private static final int TRAILER = 8; // the footer's length and Parquet's magic number

    private final SegmentWriterFactory factory;
    private final List<String> partition;
    private final String name;
    private final Path path;
    private final ParquetWriter<InternalRow> writer;
    private long rows;

    OpenSegment(SegmentWriterFactory factory, List<String> partition) throws IOException {
        this.factory = factory;
        this.partition = partition;
        this.name = "data/" + factory.prefix() + UUID.randomUUID().toString().replace("-", "") + ".parquet";
        this.path = new Path(factory.location() + "/" + name);
        this.writer = factory.writing().open(path);
    }

    void write(InternalRow row) throws IOException {
        writer.write(row);
        rows++;
    }

    boolean isFull() {
        return rows % ROWS_BETWEEN_LOOKS == 0 && writer.getDataSize() >= factory.targetBytes();
    }

    /** Makes the segment durable but for its name in the folder, and tells what it is. */
    WrittenSegments.Segment finish() throws IOException {
        writer.close();
        FileSystem files = path.getFileSystem(factory.writing().hadoop());
        long bytes = files.getFileStatus(path).getLen();
        byte[] footer = footer(files, bytes);
        sync();
        return new WrittenSegments.Segment(name, rows, bytes, partition, footer);
    }

    private byte[] footer(FileSystem files, long bytes) throws IOException {
        try (FSDataInputStream in = files.open(path)) {
            byte[] trailer = new byte[TRAILER];
            in.readFully(bytes - TRAILER, trailer);
            int length = ByteBuffer.wrap(trailer).order(ByteOrder.LITTLE_ENDIAN).getInt();
            byte[] footer = new byte[length + TRAILER];
            in.readFully(bytes - footer.length, footer);
            return footer;
        }
    }

    /** A disk of this machine keeps what was written only once it is told to. */
    private void sync() throws IOException {
        if (isLocal()) {
            try (FileChannel channel = FileChannel.open(file(), StandardOpenOption.WRITE)) {
                channel.force(true);
            }
        }
    }

    /** Makes the names of all segments durable that are finished. */
    void syncFolder() throws IOException {
        if (isLocal()) {
            try (FileChannel folder = FileChannel.open(file().getParent(), StandardOpenOption.READ)) {
                folder.force(true);
            }
        }
    }

    private boolean isLocal() {
        String scheme = path.toUri().getScheme();
        return scheme == null || scheme.equals("file");
    }

    private java.nio.file.Path file() {
        return Paths.get(path.toUri().getPath());
    }

    /** Gives up; what stands on storage is left for vacuum. */
    void abandon() throws IOException {
        writer.close();
    }
}
