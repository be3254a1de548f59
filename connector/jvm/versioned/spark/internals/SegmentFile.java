package versioned.spark.internals;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.hadoop.util.HadoopOutputFile;
import org.apache.parquet.io.LocalOutputFile;
import org.apache.parquet.io.OutputFile;

/** A file that a segment is written to. */
public sealed interface SegmentFile {
    int TRAILER = 8; // the footer's length and Parquet's magic number

    /** The file to write to, which does not exist yet. */
    OutputFile output() throws IOException;

    /** Makes the contents durable, but not yet the name in the folder, and reads the footer. */
    End finish() throws IOException;

    /** Makes the names of all files of the folder durable. */
    void syncFolder() throws IOException;

    /** A whole file: its size, and its end from the footer on. */
    record End(long bytes, byte[] footer) {}

    /** A file by its URL. */
    static SegmentFile of(String url, Configuration hadoop) {
        Path path = new Path(url);
        String scheme = path.toUri().getScheme();
        boolean local = scheme == null || scheme.equals("file");
        return local ? new Local(Paths.get(path.toUri().getPath())) : new Remote(path, hadoop);
    }

    /** Reads bytes at a position. */
    @FunctionalInterface
    interface Reader {
        void read(long from, byte[] into) throws IOException;
    }

    private static byte[] footer(long bytes, Reader reader) throws IOException {
        byte[] trailer = new byte[TRAILER];
        reader.read(bytes - TRAILER, trailer);
        int length = ByteBuffer.wrap(trailer).order(ByteOrder.LITTLE_ENDIAN).getInt();
        byte[] footer = new byte[length + TRAILER];
        reader.read(bytes - footer.length, footer);
        return footer;
    }

    /**
     * A local file, which is durable only after fsync. Not by Hadoop, which writes checksum files or starts a process for each
     * file to set its permissions.
     */
    record Local(java.nio.file.Path path) implements SegmentFile {
        @Override
        public OutputFile output() throws IOException {
            Files.createDirectories(path.getParent());
            return new LocalOutputFile(path);
        }

        @Override
        public End finish() throws IOException {
            try (FileChannel file = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
                byte[] footer = footer(file.size(), (from, into) -> read(file, from, into));
                file.force(true);
                return new End(file.size(), footer);
            }
        }

        private static void read(FileChannel file, long from, byte[] into) throws IOException {
            ByteBuffer buffer = ByteBuffer.wrap(into);
            while (buffer.hasRemaining()) {
                if (file.read(buffer, from + buffer.position()) < 0) {
                    throw new IOException("a segment ended while its footer was read");
                }
            }
        }

        @Override
        public void syncFolder() throws IOException {
            try (FileChannel folder = FileChannel.open(path.getParent(), StandardOpenOption.READ)) {
                folder.force(true);
            }
        }
    }

    /** A file that Hadoop writes to a store, which keeps what it has acknowledged. */
    record Remote(Path path, Configuration hadoop) implements SegmentFile {
        @Override
        public OutputFile output() throws IOException {
            return HadoopOutputFile.fromPath(path, hadoop);
        }

        @Override
        public End finish() throws IOException {
            FileSystem files = path.getFileSystem(hadoop);
            long bytes = files.getFileStatus(path).getLen();
            try (FSDataInputStream file = files.open(path)) {
                return new End(bytes, footer(bytes, file::readFully));
            }
        }

        @Override
        public void syncFolder() {
            // Stores have no folders to sync.
        }
    }
}
