package versioned.spark.python;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;

/** The options of the data source, with what the session and the writer say beside them. */
public final class PathOptions {
    private static final String PARTITIONING = "__partition_columns";
    private static final String CLUSTERING = "__clustering_columns";
    private static final String RESOLVED = "saveMode";
    private static final String TIME = "timestampAsOf";

    private PathOptions() {}

    /** The options of a read with an instant as their time: Spark casts a text in the session's time zone. */
    public static CaseInsensitiveStringMap withInstant(CaseInsensitiveStringMap options) {
        String text = options.get(TIME);
        Option<Object> micros = text == null ? Option.empty() : DateTimeUtils.stringToTimestamp(
            UTF8String.fromString(text), DateTimeUtils.getZoneId(SQLConf.get().sessionLocalTimeZone()));
        if (micros.isEmpty()) {
            return options; // Python says what is wrong with it
        }
        Map<String, String> exact = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        exact.putAll(options.asCaseSensitiveMap());
        exact.put(TIME, Instant.EPOCH.plus((long) micros.get(), ChronoUnit.MICROS).toString());
        return new CaseInsensitiveStringMap(exact);
    }

    /** Whether the options of a write say its save mode. */
    public static boolean isResolved(Map<String, String> options) {
        return options.keySet().stream().anyMatch(RESOLVED::equalsIgnoreCase);
    }

    /** The options of a write with its save mode and partitioning, as the data source in Python takes them. */
    public static Map<String, String> resolve(Map<String, String> options, SaveMode mode) {
        Map<String, String> resolved = new TreeMap<>(options);
        String partitioning = resolved.remove(PARTITIONING);
        if (resolved.remove(CLUSTERING) != null) {
            throw Condition.NOT_SUPPORTED.error(
                "clusterBy is not known here; sort the rows by the table property sort_by");
        }
        if (partitioning != null) {
            resolved.put("partitionBy", partitioning);
        }
        resolved.put(RESOLVED, switch (mode) {
            case Append, Overwrite -> mode.name().toLowerCase(Locale.ROOT);
            case ErrorIfExists, Ignore -> "create";
        });
        return resolved;
    }

    /** Whether the table that options name is there. */
    public static boolean exists(Map<String, String> options) {
        ObjectNode request = Python.JSON.createObjectNode();
        options.forEach(request.putObject("options")::put);
        return Python.ask("format_exists", request).get("exists").asBoolean();
    }
}
