package versioned.spark.extension;

import java.util.Optional;
import java.util.function.Consumer;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.internal.SQLConf;
import versioned.spark.internals.SparkStatements;
import versioned.spark.python.VersionedException;

/**
 * Runs a statement again after a conflict, as it was parsed, so that it is analysed and planned on the newest version.
 *
 * @param times how often it is run again
 */
record RerunStatement(SparkSession session, LogicalPlan statement, int times) implements Consumer<Runnable> {
    private static final String TIMES = "spark.versioned.conflictRetries";
    private static final String DEFAULT = "3";

    /** The conflict for which this thread runs a statement again. */
    private static final ThreadLocal<VersionedException> RUNNING = new ThreadLocal<>();

    static RerunStatement of(SparkSession session, LogicalPlan statement) {
        return new RerunStatement(session, statement, Integer.parseInt(SQLConf.get().getConfString(TIMES, DEFAULT)));
    }

    /** Throws the conflict if this thread runs a statement again that must not be. */
    static void giveUp() {
        if (RUNNING.get() != null) {
            throw VersionedException.<RuntimeException>unchecked(RUNNING.get());
        }
    }

    @Override
    public void accept(Runnable commit) {
        Optional<VersionedException> conflict = conflictOf(commit);
        if (RUNNING.get() == null) {
            for (int time = 0; time < times && conflict.isPresent(); time++) {
                RUNNING.set(conflict.get());
                try {
                    conflict = conflictOf(() -> SparkStatements.run(session, statement));
                } finally {
                    RUNNING.remove();
                }
            }
        }
        if (conflict.isPresent()) {
            throw VersionedException.<RuntimeException>unchecked(conflict.get());
        }
    }

    private static Optional<VersionedException> conflictOf(Runnable act) {
        try {
            act.run();
            return Optional.empty();
        } catch (Exception e) {
            Optional<VersionedException> conflict = VersionedException.find(e).filter(VersionedException::isConflict);
            if (conflict.isEmpty()) {
                throw VersionedException.<RuntimeException>unchecked(e);
            }
            return conflict;
        }
    }
}
