package versioned.spark.scan;

import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import versioned.spark.protocol.PlanScan;
import versioned.spark.protocol.ScanPlan;
import versioned.spark.python.Python;

/**
 * The plans that were asked for last. The plan of a snapshot does not change, so a statement that reads a table in several
 * places, or that is repeated, asks Python once.
 */
final class RecentPlans {
    private static final int KEPT = 64;
    private static final int MOST_SEGMENTS = 1_000; // of a kept plan; larger plans would take memory from queries
    private static final Cache<PlanScan, ScanPlan> PLANS =
        CacheBuilder.newBuilder().concurrencyLevel(1).maximumSize(KEPT).build();

    private RecentPlans() {}

    static ScanPlan of(PlanScan request) {
        ScanPlan kept = PLANS.getIfPresent(request);
        if (kept != null) {
            return kept;
        }
        ScanPlan plan = Python.send(request);
        if (plan.lasting() && plan.segments().path().size() <= MOST_SEGMENTS) {
            PLANS.put(request, plan);
        }
        return plan;
    }
}
