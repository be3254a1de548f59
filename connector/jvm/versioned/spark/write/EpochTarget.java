package versioned.spark.write;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import versioned.spark.protocol.TableRef;
import versioned.spark.protocol.WriteMessages.RebaseStream;
import versioned.spark.protocol.WriteMessages.Write;
import versioned.spark.protocol.WriteMessages.WriteBatch;
import versioned.spark.protocol.WriteMessages.WrittenSegment;
import versioned.spark.python.Python;
import versioned.spark.python.SchemaOptions;

/**
 * A table as the target of one epoch of a stream: its newest version, for rows that name their columns as it did when the
 * query began.
 */
public record EpochTarget(WriteTarget start, TableRef table, WriteBatch batch, long epoch,
        boolean hasFunctions) implements WriteTarget {
    /**
     * @param start the table as the query loaded it at its start
     * @param hasFunctions whether the table has a catalog, with the functions that distribute rows by partition
     */
    public static EpochTarget of(WriteTarget start, LogicalWriteInfo info, long epoch, boolean hasFunctions) {
        RebaseStream request = new RebaseStream(start.table(), info.options().get(SchemaOptions.SCHEMA_VERSION),
            new ArrayList<>(info.options().asCaseSensitiveMap().keySet()));
        return new EpochTarget(start, Python.send(request).table(),
            new WriteBatch(info.queryId(), Long.toString(epoch), true), epoch, hasFunctions);
    }

    @Override
    public DistributedWrite streaming(DistributedWrite write) {
        return new EpochWrite(write, epoch);
    }

    @Override
    public void commit(Write write, List<WrittenSegment> segments) {
        start.commit(write, segments);
    }

    @Override
    public void commitByPython(Runnable commit) {
        start.commitByPython(commit);
    }
}
