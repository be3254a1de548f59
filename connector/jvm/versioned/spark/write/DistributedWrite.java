package versioned.spark.write;

import java.util.List;
import org.apache.spark.sql.connector.distributions.Distribution;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.write.RequiresDistributionAndOrdering;
import versioned.spark.protocol.TakenNumbers;

/** A write that requires Spark to distribute and sort its rows. */
interface DistributedWrite extends RequiresDistributionAndOrdering {
    /** The numbers that were taken for its rows. */
    default List<TakenNumbers> taken() {
        return List.of();
    }

    /** What it requires. */
    RowDistribution distribution();

    @Override
    default Distribution requiredDistribution() {
        return distribution().distribution();
    }

    /** Segments have a target size anyway, so several tasks may write the rows of a large partition. */
    @Override
    default boolean distributionStrictlyRequired() {
        return false;
    }

    @Override
    default long advisoryPartitionSizeInBytes() {
        return distribution().bytes();
    }

    @Override
    default SortOrder[] requiredOrdering() {
        return distribution().ordering();
    }
}
