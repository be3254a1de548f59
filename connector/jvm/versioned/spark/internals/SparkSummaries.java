package versioned.spark.internals;

import org.apache.spark.sql.connector.write.DeleteSummary;
import org.apache.spark.sql.connector.write.MergeSummary;
import org.apache.spark.sql.connector.write.UpdateSummary;
import org.apache.spark.sql.connector.write.WriteSummary;

/** Spark's numbers of the rows that a statement changed. */
public final class SparkSummaries {
    /** Numbers of rows; null where Spark does not know them. */
    public record Rows(Long inserted, Long updated, Long deleted) {
        static final Rows UNKNOWN = new Rows(null, null, null);
    }

    private SparkSummaries() {}

    /** The numbers of a summary, which may be null. */
    public static Rows rows(WriteSummary summary) {
        try {
            return summary == null ? Rows.UNKNOWN : counted(summary);
        } catch (NoClassDefFoundError e) { // Spark before 4.3 has no summary of a DELETE or an UPDATE
            return Rows.UNKNOWN;
        }
    }

    private static Rows counted(WriteSummary summary) {
        if (summary instanceof MergeSummary merge) {
            return new Rows(count(merge.numTargetRowsInserted()), count(merge.numTargetRowsUpdated()),
                count(merge.numTargetRowsDeleted()));
        }
        if (summary instanceof DeleteSummary delete) {
            return new Rows(null, null, count(delete.numDeletedRows()));
        }
        return summary instanceof UpdateSummary update ? new Rows(null, count(update.numUpdatedRows()), null) : Rows.UNKNOWN;
    }

    /** A number, which is negative if it is not known. */
    private static Long count(long rows) {
        return rows < 0 ? null : rows;
    }
}
