package versioned.spark.scan;

import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;
import versioned.spark.protocol.*;
import versioned.spark.python.Condition;

/**
 * The mark of a segment: which of its rows are deleted.
 *
 * @param segment where the segment is, for errors
 * @param rows number of rows in its file
 * @param folder URL of the table's folder
 */
record SegmentMark(String segment, long rows, Mark mark, String folder) implements RowMark {

    /** The number of deleted rows, as the log says. */
    static long rowsOf(Mark mark) {
        return mark instanceof InlineMark inline ? inline.rows() : mark instanceof FileMark file ? file.rows() : 0;
    }

    /** The deleted rows; those of a large mark are read from its file. */
    @Override
    public MarkedRows load(Configuration hadoop) {
        byte[] blob = mark instanceof FileMark file ? read(file, hadoop) : ((InlineMark) mark).blob();
        try {
            return MarkedRows.of(ByteBuffer.wrap(blob), rowsOf(mark), rows);
        } catch (IOException e) {
            throw Condition.TABLE_CORRUPT.error(segment + ": " + e.getMessage());
        }
    }

    private byte[] read(FileMark file, Configuration hadoop) {
        Path path = new Path(folder + "/" + file.path());
        try (FSDataInputStream stream = path.getFileSystem(hadoop).open(path)) {
            stream.seek(file.offset());
            return stream.readNBytes(file.bytes()); // fewer at the end of the file, whatever the log says
        } catch (EOFException e) { // the file ends before the blob begins
            return new byte[0];
        } catch (FileNotFoundException e) {
            throw Condition.TABLE_CORRUPT.error(path + ", the marks of " + segment + ", is missing; restore it, or read an "
                + "older version with VERSION AS OF; if the version was expired and vacuumed while the query ran, run it "
                + "again");
        } catch (IOException e) {
            throw new UncheckedIOException("can't read " + path + ", the marks of " + segment, e);
        }
    }
}
