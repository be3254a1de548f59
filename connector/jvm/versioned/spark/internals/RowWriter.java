package versioned.spark.internals;

import java.io.IOException;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.spark.sql.catalyst.InternalRow;

/** Writes rows to a file. */
public interface RowWriter {
    /** Writes a row, which the caller may change afterwards. */
    void write(InternalRow row) throws IOException;

    /** The bytes of the file so far; 0 if it has not begun. */
    long dataSize();

    /** Ends the file. */
    void close() throws IOException;

    /** Gives up; the file may be incomplete. */
    void abandon() throws IOException;

    /** Writes rows as they are. */
    static RowWriter of(ParquetWriter<InternalRow> writer) {
        return new RowWriter() {
            @Override
            public void write(InternalRow row) throws IOException {
                writer.write(row);
            }

            @Override
            public long dataSize() {
                return writer.getDataSize();
            }

            @Override
            public void close() throws IOException {
                writer.close();
            }

            @Override
            public void abandon() throws IOException {
                writer.close();
            }
        };
    }
}
