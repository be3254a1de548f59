package versioned.spark.python;

import java.util.ArrayList;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.protocol.TableMessages.CheckOptions;

/** Options of reads and writes by table name. */
public final class TableOptions {
    private TableOptions() {}

    /** Refuses misspelled options. */
    public static void check(String table, CaseInsensitiveStringMap options) {
        if (!options.isEmpty()) {
            Python.send(new CheckOptions(table, new ArrayList<>(options.asCaseSensitiveMap().keySet())));
        }
    }
}
