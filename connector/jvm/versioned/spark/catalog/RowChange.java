package versioned.spark.catalog;

import org.apache.spark.sql.connector.write.RowLevelOperation;

/** A DELETE, UPDATE or MERGE of a table. */
public interface RowChange extends RowLevelOperation {
    /** The table that is changed. */
    VersionedTable table();

    /** Notes that the statement also reads the table elsewhere. */
    void readsAll();
}
