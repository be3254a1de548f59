package versioned.spark.write;

import org.apache.spark.sql.connector.distributions.Distribution;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.write.RequiresDistributionAndOrdering;

/** A write that tells Spark how it wants its rows. */
interface Arranged extends RequiresDistributionAndOrdering {
    /** How it wants them. */
    Arrangement arrangement();

    @Override
    default Distribution requiredDistribution() {
        return arrangement().distribution();
    }

    /** Segments end at a size anyway, so the rows of a large partition may be spread over tasks. */
    @Override
    default boolean distributionStrictlyRequired() {
        return false;
    }

    @Override
    default long advisoryPartitionSizeInBytes() {
        return arrangement().bytes();
    }

    @Override
    default SortOrder[] requiredOrdering() {
        return arrangement().ordering();
    }
}
