package versioned.spark.python;

import java.util.Locale;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The option {@code io}: whether Spark's Parquet code or Python reads and writes rows. */
public final class Io {
    private static final String CONF = "spark.versioned.io";

    private Io() {}

    /**
     * Whether Python does.
     *
     * @throws VersionedException (unchecked) if the option is neither {@code native} nor {@code python}
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
