package versioned.spark.internals;

import org.apache.spark.util.Utils;

/** A time in Spark's UI, reported in milliseconds. */
public final class TotalTime extends Total {
    /** For Spark's UI, which only adds up. */
    public TotalTime() {}

    TotalTime(String name, String description) {
        super(name, description);
    }

    @Override
    String text(long sum) {
        return Utils.msDurationToString(sum);
    }
}
