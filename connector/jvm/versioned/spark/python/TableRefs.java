package versioned.spark.python;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import versioned.spark.protocol.Codec;
import versioned.spark.protocol.PythonCommit;
import versioned.spark.protocol.TableRef;

/** Tables at one version, as plans, caches and the Python data source refer to them. */
public final class TableRefs {
    private TableRefs() {}

    /** The table and its version, as plans show them. */
    public static String label(TableRef table) {
        return table.name() + " version " + table.version();
    }

    /** What two references to the same snapshot have in common, whatever the table is called. */
    public static List<Object> identity(TableRef table) {
        return Arrays.asList(table.location(), table.branch(), table.uuid(), table.version(), table.pending(), table.seen(), table.overflow());
    }

    /** Options with which the Python data source finds the table, and commits. */
    public static Map<String, String> sourceOptions(TableRef table, PythonCommit commit) {
        Map<String, String> options = new HashMap<>(Map.of("path", table.location(), "commit", Codec.text(commit)));
        table.storage().forEach((key, value) -> options.put("storage." + key, value));
        return options;
    }
}
