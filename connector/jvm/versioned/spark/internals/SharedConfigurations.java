package versioned.spark.internals;

import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.util.SerializableConfiguration;

/** Hadoop's configurations that executors have, so that scans share them: to send one takes longer than to plan a scan. */
final class SharedConfigurations {
    private static final int KEPT = 8;
    private static final Cache<Map<String, String>, Broadcast<SerializableConfiguration>> SENT =
        CacheBuilder.newBuilder().concurrencyLevel(1).maximumSize(KEPT).build();
    private static WeakReference<SparkContext> owner = new WeakReference<>(null);

    private SharedConfigurations() {}

    /** A configuration for tasks, which is sent again only if one of its entries is new. */
    static synchronized Broadcast<SerializableConfiguration> broadcast(SparkContext context, Configuration hadoop) {
        if (owner.get() != context) {
            SENT.invalidateAll();
            owner = new WeakReference<>(context);
        }
        Map<String, String> entries = new HashMap<>();
        hadoop.forEach(entry -> entries.put(entry.getKey(), entry.getValue()));
        return SENT.asMap().computeIfAbsent(entries, key -> SerializableConfiguration.broadcast(context, hadoop));
    }
}
