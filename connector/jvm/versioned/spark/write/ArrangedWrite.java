package versioned.spark.write;

import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.Write;

/**
 * A write by Python, which can't itself tell Spark how it wants its rows.
 *
 * @param write the write
 * @param arrangement how it wants them
 */
record ArrangedWrite(Write write, Arrangement arrangement) implements Arranged {
    @Override
    public String description() {
        return write.description();
    }

    @Override
    public BatchWrite toBatch() {
        return write.toBatch();
    }
}
