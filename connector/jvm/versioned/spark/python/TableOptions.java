package versioned.spark.python;

import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The options of a read of a table by its name, or of a write to it. */
public final class TableOptions {
    private TableOptions() {}

    /** Has Python refuse what looks like an option of a table and is none. */
    public static void check(String table, CaseInsensitiveStringMap options) {
        if (!options.isEmpty()) {
            ObjectNode request = Python.JSON.createObjectNode().put("name", table);
            options.asCaseSensitiveMap().keySet().forEach(request.putArray("options")::add);
            Python.ask("check_options", request);
        }
    }
}
