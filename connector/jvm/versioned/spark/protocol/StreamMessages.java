package versioned.spark.protocol;

import java.util.Map;
import org.apache.spark.sql.types.StructType;
import versioned.spark.protocol.CommonMessages.Done;
import versioned.spark.protocol.ScanMessages.ScanPlan;

/** Requests about streams that read a table, and their responses. See {@code connector/PROTOCOL.md}. */
public interface StreamMessages {
    record StreamRef(TableRef table, Map<String, String> options) {}

    record StreamPlace(String offset) {}

    record StreamLag(long versions, long segments, long rows, long bytes) {}

    record StreamAhead(String offset, String newest, StreamLag behind) {}

    record MicroBatch(StreamRef stream, String start, String end) {}

    record StreamStart(StreamRef stream) implements Request<StreamPlace> {}

    record StreamLatest(StreamRef stream, String start, boolean limited, @Nullable String until)
            implements Request<StreamAhead> {}

    record StreamNewest(StreamRef stream) implements Request<StreamPlace> {}

    record StreamBehind(StreamRef stream, String offset) implements Request<StreamLag> {}

    record StreamConsumed(StreamRef stream, String offset) implements Request<Done> {}

    record PlanMicroBatch(MicroBatch batch, StructType schema, boolean allowNative) implements Request<ScanPlan> {}
}
