package versioned.spark.internals;

import java.util.Arrays;
import org.apache.spark.sql.connector.metric.CustomMetric;

/**
 * A number of a scan or a write in Spark's UI, which is the sum of what is reported. To add up, the UI creates it again by the
 * name of its class.
 */
public class Total implements CustomMetric {
    private final String name;
    private final String description;

    /** For Spark's UI, which only adds up. */
    public Total() {
        this("", "");
    }

    Total(String name, String description) {
        this.name = name;
        this.description = description;
    }

    @Override
    public final String name() {
        return name;
    }

    @Override
    public final String description() {
        return description;
    }

    @Override
    public final String aggregateTaskMetrics(long[] values) {
        return text(Arrays.stream(values).sum());
    }

    /** The sum as the UI shows it. */
    String text(long sum) {
        return Long.toString(sum);
    }
}
