package versioned.spark.catalog;

import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableContext;
import org.apache.spark.sql.connector.catalog.TimeTravel;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.python.SchemaOptions;
import versioned.spark.python.TableOptions;

/** Loads tables in the state that a statement asks for. Only Spark 4.3 and newer can load this class. */
public final class TableStates {
    private TableStates() {}

    /** The options by which Spark loads a table. */
    public static Set<String> keys() {
        return Stream.concat(SchemaOptions.keys().stream(), Stream.of(TableOptions.CHANGE_COLUMN)).collect(Collectors.toSet());
    }

    /** Whether options choose the schema, or what rows can be written. */
    public static boolean isAsked(CaseInsensitiveStringMap options) {
        return keys().stream().anyMatch(options::containsKey);
    }

    /** Loads a table in the schema that options choose. */
    public static Table load(CatalogRequests requests, Identifier ident, TableContext context,
            CaseInsensitiveStringMap options) throws NoSuchTableException {
        TimeTravel time = context.timeTravel().orElse(null);
        Table loaded = !context.writePrivileges().isEmpty() ? requests.loadToWrite(ident, options)
            : requests.load(ident, time instanceof TimeTravel.AsOfVersion as ? as.version() : null,
                time instanceof TimeTravel.AsOfTimestamp as ? as.micros() : null, true, options);
        if (loaded instanceof VersionedTable table && options.containsKey(TableOptions.CHANGE_COLUMN)) {
            table.takesChanges();
        }
        return loaded;
    }
}
