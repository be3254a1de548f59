package versioned.spark.scan;

import java.util.Map;
import java.util.TreeMap;
import versioned.spark.protocol.ChangeRange;
import versioned.spark.protocol.VersionRange;
import versioned.spark.python.Condition;
import versioned.spark.python.VersionedException;

/**
 * The changes that a statement asks for. Spark does not say whether it will read them as a batch or as a stream, and a
 * stream may start after the newest version.
 *
 * @param table its name in errors
 * @param range as the statement says it
 * @param found the same by versions; null if there is no such range yet
 * @param problem why not; null if there is one
 */
public record AskedChanges(String table, ChangeRange range, VersionRange found, VersionedException problem) {
    private static final String VERSION = "startingVersion";
    private static final String TIME = "startingTimestamp";

    /** The changes of a batch. */
    VersionRange ofBatch() {
        if (problem != null) {
            throw VersionedException.<RuntimeException>unchecked(problem);
        }
        if (isUnbounded()) {
            throw Condition.INVALID_OPTION.error(table + ": changes need a first version; write CHANGES FROM VERSION or "
                + "FROM TIMESTAMP");
        }
        return found;
    }

    /** The options of a stream of changes, with the place where it starts. */
    Map<String, String> ofStream(Map<String, String> options) {
        if (range.end() != null || range.endTime() != null) {
            throw Condition.NOT_SUPPORTED.error(table + ": a stream of changes has no end; leave it out, and stop the query "
                + "with trigger(availableNow), or read the range as a batch");
        }
        Map<String, String> all = new TreeMap<>(options);
        all.put("readChanges", "true");
        all.put("computeUpdates", Boolean.toString(range.updates()));
        all.put("deduplicationMode", range.net() ? "netChanges" : range.carryovers() ? "none" : "dropCarryovers");
        if (isUnbounded()) {
            return all;
        }
        if (found != null) {
            all.remove(TIME);
            all.put(VERSION, Long.toString(found.start()));
        } else if (!range.startInclusive()) {
            throw VersionedException.<RuntimeException>unchecked(problem);
        }
        return all;
    }

    private boolean isUnbounded() {
        return range.start() == null && range.startTime() == null;
    }

    @Override
    public String toString() {
        return found == null ? "from " + range.start() : "from " + found.start() + " to " + found.end();
    }
}
