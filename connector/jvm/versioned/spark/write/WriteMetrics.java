package versioned.spark.write;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.Write;
import versioned.spark.internals.Metric;
import versioned.spark.protocol.Committed;
import versioned.spark.protocol.TableRef;
import versioned.spark.protocol.WrittenSegment;

/** What Spark's UI shows of a write that the jar carries out; it is known on the driver once the tasks have ended. */
final class WriteMetrics {
    private static final List<Metric> OF_ROWS = List.of(Metric.SEGMENTS_WRITTEN, Metric.BYTES_WRITTEN, Metric.ROWS_WRITTEN,
        Metric.SEGMENTS_REPLACED, Metric.CONCURRENT_COMMITS, Metric.COMMIT_RETRIES);
    private static final List<Metric> OF_MARKS = List.of(Metric.SEGMENTS_WRITTEN, Metric.BYTES_WRITTEN, Metric.ROWS_WRITTEN,
        Metric.MARKS_WRITTEN, Metric.CONCURRENT_COMMITS, Metric.COMMIT_RETRIES);

    private final TableRef table;
    private final List<Metric> shown;
    private final List<CustomTaskMetric> values = new ArrayList<>();

    private WriteMetrics(TableRef table, List<Metric> shown) {
        this.table = table;
        this.shown = shown;
    }

    /** Of a write of rows, which may replace segments. */
    static WriteMetrics ofRows(TableRef table) {
        return new WriteMetrics(table, OF_ROWS);
    }

    /** Of a write of marks and rows. */
    static WriteMetrics ofMarks(TableRef table) {
        return new WriteMetrics(table, OF_MARKS);
    }

    CustomMetric[] supported() {
        return isReported() ? Metric.supported(shown) : new CustomMetric[0];
    }

    /** Whether this Spark asks a write for its metrics; if it does not, it would show zeros. */
    private static boolean isReported() {
        return Stream.of(Write.class.getMethods())
            .anyMatch(method -> method.getName().equals("reportDriverMetrics"));
    }

    CustomTaskMetric[] values() {
        return values.toArray(CustomTaskMetric[]::new);
    }

    void wrote(List<WrittenSegment> segments) {
        values.add(Metric.SEGMENTS_WRITTEN.of(segments.size()));
        values.add(Metric.BYTES_WRITTEN.of(segments.stream().mapToLong(WrittenSegment::bytes).sum()));
        values.add(Metric.ROWS_WRITTEN.of(segments.stream().mapToLong(WrittenSegment::rows).sum()));
    }

    void replaced(List<String> segments) {
        values.add(Metric.SEGMENTS_REPLACED.of(segments.size()));
    }

    void marked(long rows) {
        values.add(Metric.MARKS_WRITTEN.of(rows));
    }

    /** A commit, which follows those of others since the table was loaded. */
    void committed(Committed committed) {
        values.add(Metric.CONCURRENT_COMMITS.of(Math.max(0, committed.version() - table.version() - 1)));
        values.add(Metric.COMMIT_RETRIES.of(committed.retries()));
    }
}
