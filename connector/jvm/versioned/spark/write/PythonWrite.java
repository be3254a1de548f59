package versioned.spark.write;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.Map;
import versioned.spark.catalog.TableRef;

/** A write that Python carries out: the data source itself, told what to commit. */
final class PythonWrite {
    private PythonWrite() {}

    static Map<String, String> options(TableRef table, ObjectNode commit) {
        Map<String, String> options = new HashMap<>();
        options.put("path", table.location());
        options.put("commit", commit.toString());
        table.storage().forEach((key, value) -> options.put("storage." + key, value));
        return options;
    }
}
