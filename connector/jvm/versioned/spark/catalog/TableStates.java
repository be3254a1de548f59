package versioned.spark.catalog;

import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableContext;
import org.apache.spark.sql.connector.catalog.TimeTravel;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.python.SchemaOptions;

/** Loads tables in the state that a statement asks for. Only Spark 4.3 and newer can load this class. */
public final class TableStates {
    private TableStates() {}

    /** Whether options choose the schema. */
    public static boolean isAsked(CaseInsensitiveStringMap options) {
        return SchemaOptions.keys().stream().anyMatch(options::containsKey);
    }

    /** Loads a table in the schema that options choose. */
    public static Table load(CatalogRequests requests, Identifier ident, TableContext context,
            CaseInsensitiveStringMap options) throws NoSuchTableException {
        TimeTravel time = context.timeTravel().orElse(null);
        return requests.loadSeen(ident, time instanceof TimeTravel.AsOfVersion as ? as.version() : null,
            time instanceof TimeTravel.AsOfTimestamp as ? as.micros() : null, !context.writePrivileges().isEmpty(),
            options.get(SchemaOptions.SCHEMA_VERSION), options.get(SchemaOptions.ON_OVERFLOW));
    }
}
