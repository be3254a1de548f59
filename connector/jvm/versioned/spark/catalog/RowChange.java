package versioned.spark.catalog;

import org.apache.spark.sql.connector.write.RowLevelOperation;

/** A DELETE, UPDATE or MERGE of a table. */
public interface RowChange extends RowLevelOperation {
    /** The table that is changed. */
    VersionedTable table();

    /** Says that the statement reads the table in other places, too. */
    void readsAll();
}
