package versioned.spark.write;

import java.io.IOException;
import java.util.List;
import java.util.UUID;
import org.apache.spark.sql.catalyst.InternalRow;
import versioned.spark.internals.RowWriter;
import versioned.spark.internals.SegmentFile;
import versioned.spark.internals.SparkParquetWriting;
import versioned.spark.protocol.WrittenSegment;

/** A segment that is being written. No snapshot contains it before a commit. */
final class OpenSegment {
    private static final int ROWS_BETWEEN_LOOKS = 4096;

    private final TaskWriter.Factory factory;
    private final List<String> partition;
    private final String name;
    private final SegmentFile file;
    private final RowWriter writer;
    private long rows;

    OpenSegment(TaskWriter.Factory factory, SparkParquetWriting.Files files, List<String> partition)
            throws IOException {
        this.factory = factory;
        this.partition = partition;
        this.name = "data/" + factory.prefix() + random(factory.prefix()) + ".parquet";
        this.file = files.at(factory.location() + "/" + name);
        this.writer = files.open(file);
    }

    void write(InternalRow row) throws IOException {
        writer.write(row);
        rows++;
    }

    boolean isFull() {
        return rows % ROWS_BETWEEN_LOOKS == 0 && writer.dataSize() >= factory.targetBytes();
    }

    /** Makes the contents of the segment durable, but not yet its name in the folder. */
    WrittenSegment finish() throws IOException {
        writer.close();
        SegmentFile.End end = file.finish();
        return new WrittenSegment(name, rows, end.bytes(), partition, end.footer());
    }

    /** Makes the names of all finished segments durable. */
    void syncFolder() throws IOException {
        file.syncFolder();
    }

    /** Gives up; vacuum deletes the file. */
    void abandon() throws IOException {
        writer.abandon();
    }

    /** The rest of the UUID whose first digits are in the prefix of a name, after a dash. */
    private static String random(String prefix) {
        int given = prefix.length() - prefix.indexOf('-') - 1;
        return UUID.randomUUID().toString().replace("-", "").substring(given);
    }
}
