package versioned.spark.catalog;

import com.fasterxml.jackson.databind.node.ObjectNode;

/** Who takes what a write has written: Python at once, or a staged table later. */
@FunctionalInterface
public interface Committer {
    /**
     * Takes a write's commit.
     *
     * @param request of the question {@code commit_write}
     */
    void commit(ObjectNode request);

    /** Lets Python commit what it has written itself. */
    default void commitWritten(Runnable commit) {
        commit.run();
    }
}
