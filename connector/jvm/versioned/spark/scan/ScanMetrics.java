package versioned.spark.scan;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import versioned.spark.internals.Metric;

/** What Spark's UI shows of a scan. Spark counts the rows that it reads by itself. */
final class ScanMetrics {
    static final List<Metric> ALL = List.of(Metric.PLANNING_TIME, Metric.SEGMENTS_READ, Metric.SEGMENTS_SKIPPED,
        Metric.SEGMENTS_IN_PYTHON, Metric.MERGED_GROUPS, Metric.BYTES_READ, Metric.ROWS_OF_SEGMENTS, Metric.ROWS_MARKED);

    private ScanMetrics() {}

    /**
     * @param read the segments of the plan that runtime filters leave
     * @param nanos time of planning
     */
    static CustomTaskMetric[] of(ScanPlan plan, List<ScanPlan.Segment> read, long mergedGroups, long nanos) {
        return new CustomTaskMetric[] {
            Metric.PLANNING_TIME.of(TimeUnit.NANOSECONDS.toMillis(nanos)),
            Metric.SEGMENTS_READ.of(read.size()),
            Metric.SEGMENTS_SKIPPED.of(plan.live() - read.size()),
            Metric.SEGMENTS_IN_PYTHON.of(read.stream().filter(segment -> !plan.isNative(segment)).count()),
            Metric.MERGED_GROUPS.of(mergedGroups),
            Metric.BYTES_READ.of(read.stream().mapToLong(ScanPlan.Segment::bytes).sum()),
            Metric.ROWS_OF_SEGMENTS.of(read.stream().mapToLong(ScanPlan.Segment::rows).sum()),
            Metric.ROWS_MARKED.of(read.stream().mapToLong(segment -> segment.rows() - segment.shownRows()).sum()),
        };
    }
}
