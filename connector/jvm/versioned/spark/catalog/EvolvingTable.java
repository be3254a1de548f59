package versioned.spark.catalog;

import org.apache.spark.sql.connector.catalog.SupportsSchemaEvolution;
import org.apache.spark.sql.connector.catalog.TableChange;
import versioned.spark.protocol.LoadedTable;
import versioned.spark.protocol.NeedsChange;
import versioned.spark.python.Python;

/** A table that says which changes a statement WITH SCHEMA EVOLUTION needs. */
final class EvolvingTable extends VersionedTable implements SupportsSchemaEvolution {
    private EvolvingTable(LoadedTable loaded) {
        super(Role.EVOLVING, loaded);
    }

    /** Such a table, if Spark has the interface. */
    static VersionedTable of(LoadedTable loaded) {
        return new EvolvingTable(loaded);
    }

    @Override
    public boolean supportsColumnChange(TableChange.ColumnChange change) {
        return Python.send(new NeedsChange(ref(), Changes.of(change, schema()))).needed();
    }
}
