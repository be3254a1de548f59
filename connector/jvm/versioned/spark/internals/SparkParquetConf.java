package versioned.spark.internals;

import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.internal.config.ConfigEntry;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import scala.Option;

/** Spark's settings for Parquet, of which those that could change an answer are fixed. */
final class SparkParquetConf {
    private static final Pattern NAMES = Pattern.compile("(?i)parquet|timestampNanos");

    /** Spark's settings for Parquet, of all that it has; looked for once. */
    private static final List<ConfigEntry<?>> LOOKED_AT = SQLConf$.MODULE$.getConfigEntries().stream()
        .<ConfigEntry<?>>map(entry -> entry).filter(entry -> NAMES.matcher(entry.key()).find()).toList();

    private SparkParquetConf() {}

    /** Sets what is fixed, and tells Hadoop's configuration, where Parquet's code looks for more with every release. */
    static void fix(SQLConf conf, Configuration hadoop, Map<String, String> fixed) {
        fixed.forEach(conf::setConfString);
        for (ConfigEntry<?> entry : LOOKED_AT) {
            tell(hadoop, entry.key(), conf.getConf(entry));
        }
        fixed.forEach(hadoop::set);
    }

    private static void tell(Configuration hadoop, String key, Object value) {
        if (!(value instanceof Option<?>)) {
            hadoop.set(key, String.valueOf(value));
        }
    }
}
