package versioned.spark.write;

import org.apache.spark.sql.connector.write.WriteSummary;
import versioned.spark.internals.SparkSummaries;
import versioned.spark.protocol.Effect;

/** A DELETE, UPDATE or MERGE, as the history shows it. */
public final class Statement {
    private static final long NANOS = 1_000_000;

    private final String condition;
    private final long began = System.nanoTime();

    /** @param condition in SQL; null if it is not known */
    public Statement(String condition) {
        this.condition = condition;
    }

    /** What is known before the statement runs. */
    public Effect condition() {
        return new Effect(condition, null, null, null, null);
    }

    /**
     * What the statement did, once its rows are written.
     *
     * @param summary Spark's numbers of rows; null before Spark 4.1
     */
    Effect effect(WriteSummary summary) {
        SparkSummaries.Rows rows = SparkSummaries.rows(summary);
        return new Effect(condition, rows.inserted(), rows.updated(), rows.deleted(), (System.nanoTime() - began) / NANOS);
    }
}
