package versioned.spark.python;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import versioned.spark.internals.SparkStatements;
import versioned.spark.protocol.FormatExists;

/** Options of the data source, completed with the session's time zone and the writer's save mode. */
public final class PathOptions {
    private static final Pattern NAME = Pattern.compile("\\w+(\\.[^./\\\\:]+)+");
    private static final String PARTITIONING = "__partition_columns";
    private static final String CLUSTERING = "__clustering_columns";
    private static final String RESOLVED = "saveMode";
    private static final String OVERWRITES = "sessionOverwriteMode";
    private static final String STAGED = "staged";
    private static final String TIME = "timestampAsOf";
    private static final String STARTING_TIME = "startingTimestamp";

    private PathOptions() {}

    /** Refuses the name of a table of a registered catalog in the place of a folder: Iceberg's format takes one. */
    public static void refuseName(CaseInsensitiveStringMap options) {
        String path = options.get("path");
        if (path == null || options.containsKey("warehouse") || !NAME.matcher(path).matches()) {
            return;
        }
        String catalog = path.substring(0, path.indexOf('.'));
        if (SQLConf.get().getConfString("spark.sql.catalog." + catalog, "").startsWith("versioned.spark.")) {
            throw Condition.INVALID_OPTION.error(path + " is the name of a table in the catalog " + catalog
                + ", and format(\"versioned\") takes a folder: use spark.table(\"" + path + "\"), df.writeTo(\"" + path
                + "\").append() or saveAsTable; or write ./" + path + " if you mean a folder");
        }
    }

    /** The options of a read, with their timestamps in UTC: their texts are in the session's time zone. */
    public static CaseInsensitiveStringMap withInstant(CaseInsensitiveStringMap options) {
        return withInstant(withInstant(options, TIME), STARTING_TIME);
    }

    private static CaseInsensitiveStringMap withInstant(CaseInsensitiveStringMap options, String name) {
        String text = options.get(name);
        Option<Object> micros = text == null ? Option.empty() : DateTimeUtils.stringToTimestamp(
            UTF8String.fromString(text), DateTimeUtils.getZoneId(SQLConf.get().sessionLocalTimeZone()));
        if (micros.isEmpty()) {
            return options; // Python refuses it
        }
        Map<String, String> exact = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        exact.putAll(options.asCaseSensitiveMap());
        exact.put(name, Instant.EPOCH.plus((long) micros.get(), ChronoUnit.MICROS).toString());
        return new CaseInsensitiveStringMap(exact);
    }

    /** The options of a stream, as Python takes them. */
    public static Map<String, String> ofStream(CaseInsensitiveStringMap options) {
        return withInstant(options).asCaseSensitiveMap();
    }

    /** Whether the options of a write have its save mode. */
    public static boolean isResolved(Map<String, String> options) {
        return options.keySet().stream().anyMatch(RESOLVED::equalsIgnoreCase);
    }

    /** The options of a write with its save mode and partitioning, as the data source in Python takes them. */
    public static Map<String, String> resolve(Map<String, String> options, SaveMode mode) {
        Map<String, String> resolved = new TreeMap<>(options);
        String partitioning = resolved.remove(PARTITIONING);
        if (resolved.remove(CLUSTERING) != null) {
            throw Condition.NOT_SUPPORTED.error(
                "clusterBy is not supported; leave it out, and set the table property sort_by");
        }
        if (partitioning != null) {
            resolved.put("partitionBy", partitioning);
        }
        resolved.put(RESOLVED, switch (mode) {
            case Append, Overwrite -> mode.name().toLowerCase(Locale.ROOT);
            case ErrorIfExists, Ignore -> "create";
        });
        SparkStatements.stagedBy().ifPresent(setting -> resolved.put(STAGED, setting));
        resolved.put(OVERWRITES, SparkStatements.overwritesPartitions() ? "dynamic" : "static");
        return resolved;
    }

    /** Whether the options name an existing table. */
    public static boolean exists(Map<String, String> options) {
        return Python.send(new FormatExists(options)).exists();
    }
}
