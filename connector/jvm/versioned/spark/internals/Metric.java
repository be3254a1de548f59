package versioned.spark.internals;

import java.util.List;
import java.util.function.BiFunction;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** What Spark's UI shows of scans and writes. {@code docs/sql.md} says what each means. */
public enum Metric {
    PLANNING_TIME("planningTime", "planning time", TotalTime::new),
    SEGMENTS_READ("segmentsRead", "number of segments read", Total::new),
    SEGMENTS_SKIPPED("segmentsSkipped", "number of segments skipped", Total::new),
    SEGMENTS_IN_PYTHON("segmentsInPython", "number of segments read by Python", Total::new),
    MERGED_GROUPS("mergedGroups", "number of groups of segments merged", Total::new),
    BYTES_READ("bytesRead", "size of segments read", TotalBytes::new),
    ROWS_OF_SEGMENTS("rowsOfSegments", "number of rows in segments read", Total::new),
    ROWS_MARKED("rowsMarked", "number of rows skipped by marks", Total::new),

    SEGMENTS_WRITTEN("segmentsWritten", "number of segments written", Total::new),
    SEGMENTS_REPLACED("segmentsReplaced", "number of segments replaced", Total::new),
    BYTES_WRITTEN("bytesWritten", "size of segments written", TotalBytes::new),
    ROWS_WRITTEN("rowsWritten", "number of rows written", Total::new),
    MARKS_WRITTEN("marksWritten", "number of rows marked as deleted", Total::new),
    CONCURRENT_COMMITS("concurrentCommits", "number of concurrent commits", Total::new),
    COMMIT_RETRIES("commitRetries", "number of commit retries", Total::new);

    private final String shortName;
    private final String description;
    private final BiFunction<String, String, Total> kind;

    Metric(String shortName, String description, BiFunction<String, String, Total> kind) {
        this.shortName = shortName;
        this.description = description;
        this.kind = kind;
    }

    /** A value that the driver reports. */
    public CustomTaskMetric of(long value) {
        return new Value(shortName, value);
    }

    /** Metrics for Spark, which shows a zero for those of which no value is reported. */
    public static CustomMetric[] supported(List<Metric> metrics) {
        return metrics.stream().map(metric -> metric.kind.apply(metric.shortName, metric.description))
            .toArray(CustomMetric[]::new);
    }

    private record Value(String name, long value) implements CustomTaskMetric {}
}
