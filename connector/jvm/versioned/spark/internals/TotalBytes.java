package versioned.spark.internals;

import org.apache.spark.util.Utils;

/** A size in Spark's UI. */
public final class TotalBytes extends Total {
    /** For Spark's UI, which only adds up. */
    public TotalBytes() {}

    TotalBytes(String name, String description) {
        super(name, description);
    }

    @Override
    String text(long sum) {
        return Utils.bytesToString(sum);
    }
}
