package versioned.spark.internals;

import java.util.Map;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.internal.config.ConfigEntry;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import scala.Option;

/** Spark's settings for Parquet, of which those that could change an answer are fixed. */
final class SparkParquetConf {
    private static final Pattern LOOKED_AT = Pattern.compile("(?i)parquet|timestampNanos");

    private SparkParquetConf() {}

    /** Sets what is fixed, and tells Hadoop's configuration, where Parquet's code looks for more with every release. */
    static void fix(SQLConf conf, Configuration hadoop, Map<String, String> fixed) {
        fixed.forEach(conf::setConfString);
        for (ConfigEntry<?> entry : SQLConf$.MODULE$.getConfigEntries()) {
            if (fixed.containsKey(entry.key()) || LOOKED_AT.matcher(entry.key()).find()) {
                tell(hadoop, entry.key(), conf.getConf(entry));
            }
        }
    }

    private static void tell(Configuration hadoop, String key, Object value) {
        if (!(value instanceof Option<?>)) {
            hadoop.set(key, String.valueOf(value));
        }
    }
}
