package versioned.spark.protocol;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import versioned.spark.internals.HadoopFolder;
import versioned.spark.protocol.ChangeMessages.Change;
import versioned.spark.protocol.WriteMessages.PythonCommit;

/** A table at one version. Its file system options may hold secrets, so they are never shown. */
public record TableRef(String location, Map<String, String> storage, @Nullable HadoopFolder hadoop, String name,
        String uuid, long version, int schemaVersion, List<Change> pending, @Nullable String seen, String overflow,
        @Nullable Integer writtenAs) {

    /** Whether Spark itself can read and write the table's files. */
    public boolean canReach() {
        return hadoop != null && hadoop.isReachable();
    }

    /** Options with which the Python data source finds the table, to be completed. */
    public Map<String, String> sourceOptions() {
        Map<String, String> options = new HashMap<>();
        options.put("path", location);
        storage.forEach((key, value) -> options.put("storage." + key, value));
        return options;
    }

    /** The options of a write that the Python data source commits. */
    public Map<String, String> sourceOptions(PythonCommit commit) {
        Map<String, String> options = sourceOptions();
        options.put("commit", Codec.text(commit));
        return options;
    }

    /** What two references to the same snapshot have in common, whatever the table is called. */
    public List<Object> identity() {
        return Arrays.asList(location, uuid, version, pending, seen, overflow);
    }

    @Override
    public String toString() {
        return name + " version " + version;
    }
}
