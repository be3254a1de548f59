package versioned.spark.write;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;
import versioned.spark.internals.SparkRows;

/**
 * Writes rows that Spark writes one by one by Python, whose data source takes all rows of a task together and silently drops
 * single ones; so they are kept until the end of the task.
 */
abstract class KeptRows implements DataWriter<InternalRow> {
    private final DataWriter<InternalRow> python;
    private final SparkRows rows;

    KeptRows(DataWriter<InternalRow> python, StructType schema) {
        this.python = python;
        this.rows = new SparkRows(schema);
    }

    final void keep(InternalRow row) {
        rows.add(row);
    }

    @Override
    public final WriterCommitMessage commit() throws IOException {
        python.writeAll(rows.iterator());
        return python.commit();
    }

    @Override
    public final void abort() throws IOException {
        python.abort();
    }

    @Override
    public final void close() throws IOException {
        rows.clear();
        python.close();
    }
}
