package versioned.spark.write;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import versioned.spark.catalog.Committer;
import versioned.spark.internals.SparkParquetWriting;

/** Rows written by Spark's own Parquet writer, one commit by Python. */
final class VersionedWrite implements Arranged, BatchWrite {
    private final String table;
    private final WritePlan plan;
    private final ObjectNode commit;
    private final Committer committer;
    private final Replaced replaced;

    VersionedWrite(String table, WritePlan plan, ObjectNode commit, Committer committer, Replaced replaced) {
        this.table = table;
        this.plan = plan;
        this.commit = commit;
        this.committer = committer;
        this.replaced = replaced;
    }

    @Override
    public String description() {
        return "VersionedWrite " + table;
    }

    @Override
    public Arrangement arrangement() {
        return plan.arrangement();
    }

    @Override
    public BatchWrite toBatch() {
        return this;
    }

    @Override
    public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
        SparkParquetWriting writing = SparkParquetWriting.of(plan.folder(), plan.schema(), plan.ids(), plan.footer());
        return new SegmentWriterFactory(writing, plan.folder().url(), plan.prefix(), plan.targetBytes(),
            new ArrayList<>(plan.partitioning()));
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {
        ArrayNode segments = commit.putArray("segments");
        for (WriterCommitMessage message : messages) {
            if (message instanceof WrittenSegments written) {
                written.segments().forEach(segment -> segments.add(segment.json()));
            }
        }
        committer.commit(replaced.now(commit));
    }

    @Override
    public void abort(WriterCommitMessage[] messages) {
        // The commit may have landed before its answer was lost, so nothing is deleted; vacuum takes what is left.
    }
}
