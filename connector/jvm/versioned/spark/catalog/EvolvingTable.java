package versioned.spark.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.spark.sql.connector.catalog.SupportsSchemaEvolution;
import org.apache.spark.sql.connector.catalog.TableChange;
import versioned.spark.python.Python;

/** A table that says which changes a statement WITH SCHEMA EVOLUTION needs. */
final class EvolvingTable extends VersionedTable implements SupportsSchemaEvolution {
    private EvolvingTable(JsonNode loaded) {
        super(Role.EVOLVING, loaded);
    }

    /** Such a table, where Spark has what it takes. */
    static VersionedTable of(JsonNode loaded) {
        return new EvolvingTable(loaded);
    }

    @Override
    public boolean supportsColumnChange(TableChange.ColumnChange change) {
        ObjectNode request = ref().request();
        request.set("changes", Changes.json(new TableChange[] {change}, schema()));
        return Python.ask("needs_change", request).get("needed").asBoolean();
    }
}
