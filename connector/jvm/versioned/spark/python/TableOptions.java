package versioned.spark.python;

import com.google.common.cache.CacheBuilder;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.protocol.AcceptOptions;

/** Options of reads and writes by table name. */
public final class TableOptions {
    /** What options are given to. */
    public static final String READ = "read";

    public static final String WRITE = "write";
    public static final String STREAM = "stream";
    public static final String SINK = "sink";
    public static final String CHANGES = "changes";
    public static final String CHANGE_STREAM = "change stream";

    /** Which rows an overwrite replaces: {@code static} for all, {@code dynamic} for those of the partitions that it writes. */
    public static final String OVERWRITE_MODE = "partitionOverwriteMode";

    /** The condition of the rows that an overwrite replaces. */
    public static final String REPLACE_WHERE = "replaceWhere";

    /** Whether an overwrite replaces the columns, too. */
    public static final String OVERWRITE_SCHEMA = "overwriteSchema";

    /** The column that says what each row is, of a write that applies changes. */
    public static final String CHANGE_COLUMN = "changeColumn";

    /** The option of a read that only Python carries out: which shapes. */
    public static final String BOX = "box";

    private static final String OF_SPARK = "__";
    private static final String IO = "spark.versioned.io";
    private static final int REMEMBERED = 64;

    // Python accepts options by their names and values alone. A statement asks when it is analysed and when it is planned.
    private static final Map<AcceptOptions, Map<String, String>> ACCEPTED = CacheBuilder.newBuilder().concurrencyLevel(1)
        .maximumSize(REMEMBERED).<AcceptOptions, Map<String, String>>build().asMap();

    private TableOptions() {}

    /**
     * The options under the names that Versioned has for them.
     *
     * @param named whether the table is in a catalog, and not named by its path
     * @param uses what the options are given to
     * @throws VersionedException (unchecked) if none of these uses honours one of them
     */
    public static CaseInsensitiveStringMap accepted(String table, boolean named, CaseInsensitiveStringMap options, String... uses) {
        boolean given = options.keySet().stream().anyMatch(key -> !key.startsWith(OF_SPARK));
        return !given ? options : new CaseInsensitiveStringMap(accepted(
            new AcceptOptions(table, List.of(uses), named, options.asCaseSensitiveMap())));
    }

    private static Map<String, String> accepted(AcceptOptions request) {
        Map<String, String> accepted = ACCEPTED.get(request);
        if (accepted == null) {
            accepted = Python.send(request).options();
            ACCEPTED.put(request, accepted);
        }
        return accepted;
    }

    /** Options without some of them. */
    public static CaseInsensitiveStringMap without(CaseInsensitiveStringMap options, Set<String> names) {
        Map<String, String> left = new TreeMap<>(options.asCaseSensitiveMap());
        left.keySet().removeIf(key -> names.stream().anyMatch(key::equalsIgnoreCase));
        return new CaseInsensitiveStringMap(left);
    }

    /** Options and one more. */
    public static CaseInsensitiveStringMap with(CaseInsensitiveStringMap options, String name, String value) {
        Map<String, String> all = new TreeMap<>(without(options, Set.of(name)).asCaseSensitiveMap());
        all.put(name, value);
        return new CaseInsensitiveStringMap(all);
    }

    /** Refuses options that say which rows an overwrite replaces, where no rule has seen to them. */
    public static void refuseUnresolved(String table, CaseInsensitiveStringMap options) {
        for (String name : List.of(OVERWRITE_MODE, REPLACE_WHERE, OVERWRITE_SCHEMA)) {
            if (options.containsKey(name)) {
                throw Condition.NOT_SUPPORTED.error(table + ": " + name + " in a write by table name needs the Spark "
                    + "extension; set spark.sql.extensions as docs/sql.md says, or write with format(\"versioned\") and a path");
            }
        }
    }

    /**
     * Whether Python reads and writes rows, and not Spark's Parquet code.
     *
     * @throws VersionedException (unchecked) if the option {@code io} is neither {@code native} nor {@code python}
     */
    public static boolean isPython(CaseInsensitiveStringMap options) {
        String asked = options.getOrDefault("io", SQLConf.get().getConfString(IO, "native"));
        return switch (asked.toLowerCase(Locale.ROOT)) {
            case "native" -> false;
            case "python" -> true;
            default -> throw Condition.INVALID_OPTION.error("io is '" + asked + "'; it must be native or python");
        };
    }
}
