package versioned.spark.write;

import org.apache.spark.sql.connector.distributions.Distribution;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.RequiresDistributionAndOrdering;
import org.apache.spark.sql.connector.write.Write;

/**
 * A write by Python, which can't itself tell Spark how it wants its rows.
 *
 * @param write the write
 * @param arrangement how it wants them
 */
record ArrangedWrite(Write write, Arrangement arrangement) implements RequiresDistributionAndOrdering {
    @Override
    public String description() {
        return write.description();
    }

    @Override
    public Distribution requiredDistribution() {
        return arrangement.distribution();
    }

    @Override
    public boolean distributionStrictlyRequired() {
        return false;
    }

    @Override
    public long advisoryPartitionSizeInBytes() {
        return arrangement.bytes();
    }

    @Override
    public SortOrder[] requiredOrdering() {
        return arrangement.ordering();
    }

    @Override
    public BatchWrite toBatch() {
        return write.toBatch();
    }
}
