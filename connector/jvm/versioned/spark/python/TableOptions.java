package versioned.spark.python;

import java.util.ArrayList;
import java.util.Locale;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.protocol.TableMessages.CheckOptions;

/** Options of reads and writes by table name. */
public final class TableOptions {
    /** The column that says what each row is, of a write that applies changes. */
    public static final String CHANGE_COLUMN = "changeColumn";

    private static final String IO = "spark.versioned.io";

    private TableOptions() {}

    /** Refuses misspelled options. */
    public static void check(String table, CaseInsensitiveStringMap options) {
        if (!options.isEmpty()) {
            Python.send(new CheckOptions(table, new ArrayList<>(options.asCaseSensitiveMap().keySet())));
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
