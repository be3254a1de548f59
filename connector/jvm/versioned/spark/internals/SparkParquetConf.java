package versioned.spark.internals;

import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.internal.config.ConfigEntry;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import scala.Option;

/** Spark's settings for Parquet; those that could change a result are fixed. */
final class SparkParquetConf {
    private static final Pattern NAMES = Pattern.compile("(?i)parquet|timestampNanos");

    /** Spark's settings for Parquet. */
    private static final List<ConfigEntry<?>> ENTRIES = SQLConf$.MODULE$.getConfigEntries().stream()
        .<ConfigEntry<?>>map(entry -> entry).filter(entry -> NAMES.matcher(entry.key()).find()).toList();

    private SparkParquetConf() {}

    /** Fixes settings, and copies all of them to Hadoop's configuration, which Parquet's code reads more and more. */
    static void fix(SQLConf conf, Configuration hadoop, Map<String, String> fixed) {
        fixed.forEach(conf::setConfString);
        for (ConfigEntry<?> entry : ENTRIES) {
            copy(hadoop, entry.key(), conf.getConf(entry));
        }
        fixed.forEach(hadoop::set);
    }

    private static void copy(Configuration hadoop, String key, Object value) {
        if (!(value instanceof Option<?>)) {
            hadoop.set(key, String.valueOf(value));
        }
    }
}
