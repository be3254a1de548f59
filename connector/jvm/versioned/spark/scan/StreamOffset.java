package versioned.spark.scan;

import org.apache.spark.sql.connector.read.streaming.Offset;

/** An offset as Python wrote it; only Python knows what it says. */
final class StreamOffset extends Offset {
    private final String json;

    StreamOffset(String json) {
        this.json = json;
    }

    @Override
    public String json() {
        return json;
    }
}
