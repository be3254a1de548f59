package versioned.spark.internals;

import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;

/** A builder of a write that replaces rows by key, so that it takes a stream's output mode {@code update}, too. */
public record SparkUpdates(SupportsTruncate upserts) implements SupportsTruncate, SupportsStreamingUpdateAsAppend {
    @Override
    public WriteBuilder truncate() {
        return upserts.truncate();
    }

    @Override
    public Write build() {
        return upserts.build();
    }
}
