package versioned.spark.write;

import java.util.HashMap;
import java.util.Map;
import versioned.spark.protocol.Codec;
import versioned.spark.protocol.TableRef;
import versioned.spark.protocol.WriteMessages.PythonCommit;

/** Options of the Python data source for a write that it carries out. */
final class PythonWrite {
    private PythonWrite() {}

    static Map<String, String> options(TableRef table, PythonCommit commit) {
        Map<String, String> options = new HashMap<>();
        options.put("path", table.location());
        options.put("commit", Codec.text(commit));
        table.storage().forEach((key, value) -> options.put("storage." + key, value));
        return options;
    }
}
