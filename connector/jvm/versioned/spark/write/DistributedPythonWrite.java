package versioned.spark.write;

import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.Write;

/** A write by Python with the distribution that it requires. */
record DistributedPythonWrite(Write write, RowDistribution distribution) implements DistributedWrite {
    @Override
    public String description() {
        return write.description();
    }

    @Override
    public BatchWrite toBatch() {
        return write.toBatch();
    }
}
