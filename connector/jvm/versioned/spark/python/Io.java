package versioned.spark.python;

import java.util.Locale;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Whether rows go through Spark's own Parquet code or through Python: the option {@code io}, or the conf. */
public final class Io {
    private static final String CONF = "spark.versioned.io";

    private Io() {}

    /**
     * Whether Python is asked for.
     *
     * @throws VersionedException (unchecked) if it is neither {@code native} nor {@code python}
     */
    public static boolean isPython(CaseInsensitiveStringMap options) {
        String asked = options.getOrDefault("io", SQLConf.get().getConfString(CONF, "native"));
        return switch (asked.toLowerCase(Locale.ROOT)) {
            case "native" -> false;
            case "python" -> true;
            default -> throw Condition.INVALID_OPTION.error("io is '" + asked + "'; it must be native or python");
        };
    }
}
