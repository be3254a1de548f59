package versioned.spark.write;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteSummary;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import versioned.spark.internals.SparkParquetWriting;
import versioned.spark.protocol.TableRef;
import versioned.spark.protocol.TakenNumbers;
import versioned.spark.protocol.WritePlan;
import versioned.spark.protocol.WrittenSegment;

/**
 * Rows written by Spark's own Parquet writer; {@code commit} takes the segments of all tasks, and {@code metrics} what it did.
 *
 * @param shreds whether variants are shredded
 */
record VersionedWrite(TableRef table, WritePlan plan, StoredProjection projection, RowDistribution distribution, boolean shreds,
        Numbers numbers, WriteMetrics metrics, BiConsumer<List<WrittenSegment>, WriteSummary> commit) implements DistributedWrite, BatchWrite {
    @Override
    public String description() {
        return "VersionedWrite " + table.name();
    }

    @Override
    public BatchWrite toBatch() {
        return this;
    }

    @Override
    public List<TakenNumbers> taken() {
        return numbers.taken();
    }

    @Override
    public CustomMetric[] supportedCustomMetrics() {
        return metrics.supported();
    }

    @Override
    public CustomTaskMetric[] reportDriverMetrics() {
        return metrics.values();
    }

    @Override
    public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
        SparkParquetWriting writing = SparkParquetWriting.of(table.hadoop(), plan.schema(), plan.ids(), plan.footer(),
            shreds);
        return new TaskWriter.Factory(writing, table.hadoop().url(), plan.prefix(), plan.targetBytes(),
            new ArrayList<>(plan.partitioning()), projection, numbers.take(info.numPartitions(), plan.schema()));
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {
        commit(messages, null);
    }

    @Override
    public void commit(WriterCommitMessage[] messages, WriteSummary summary) {
        List<WrittenSegment> segments = new ArrayList<>();
        for (WriterCommitMessage message : messages) {
            if (message instanceof TaskWriter.Written written) {
                segments.addAll(written.segments());
            }
        }
        metrics.wrote(segments);
        numbers.commit(() -> commit.accept(segments, summary));
    }

    @Override
    public void abort(WriterCommitMessage[] messages) {
        // The commit may have landed before its response was lost, so no file is deleted; vacuum deletes what is left.
        numbers.giveBack();
    }
}
