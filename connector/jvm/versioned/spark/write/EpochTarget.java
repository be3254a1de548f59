package versioned.spark.write;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import versioned.spark.protocol.*;
import versioned.spark.python.Python;
import versioned.spark.python.SchemaOptions;

/**
 * A table as the target of one epoch of a stream: its newest version, for rows that name their columns as it did when the
 * query began.
 */
public record EpochTarget(WriteTarget start, TableRef ref, WriteBatch batch, long epoch) implements WriteTarget {
    /** @param start the table as the query loaded it at its start */
    public static EpochTarget of(WriteTarget start, LogicalWriteInfo info, long epoch) {
        RebaseStream request = new RebaseStream(start.ref(), info.options().get(SchemaOptions.SCHEMA_VERSION),
            new ArrayList<>(info.options().asCaseSensitiveMap().keySet()));
        return new EpochTarget(start, Python.send(request).table(),
            new WriteBatch(info.queryId(), Long.toString(epoch), true), epoch);
    }

    @Override
    public boolean isNamed() {
        return start.isNamed();
    }

    @Override
    public DistributedWrite streaming(DistributedWrite write) {
        return new EpochWrite(write, epoch);
    }

    @Override
    public void commit(Write write, List<WrittenSegment> segments, Consumer<Committed> done) {
        start.commit(write, segments, done);
    }

    @Override
    public void runCommit(Runnable commit) {
        start.runCommit(commit);
    }
}
