package versioned.spark.write;

import java.util.List;
import java.util.function.Consumer;
import versioned.spark.protocol.*;
import versioned.spark.python.Commits;

/** Where a write goes: a table, or a staged table that is created together with its rows. */
public interface WriteTarget {
    /** The table, at the version on which the write is planned. */
    TableRef ref();

    /** The plan of a write of all columns without options, as it was made when the table was loaded; null if there is none. */
    default WritePlan plan() {
        return null;
    }

    /** The staged table; null for a table that exists. */
    default Creation creation() {
        return null;
    }

    /** The batch that the write is, of which there is one commit; null if its options say. */
    default WriteBatch batch() {
        return null;
    }

    /** Whether the table has a name in a catalog, with functions by which Spark distributes rows. */
    default boolean isNamed() {
        return true;
    }

    /** The write as the target takes it. */
    default DistributedWrite streaming(DistributedWrite write) {
        return write;
    }

    /** The ID of a commit that Python makes. */
    default String commitId() {
        return Commits.newId();
    }

    /**
     * Commits segments, or keeps them for the commit of a staged table.
     *
     * @param done takes the commit, unless it is kept
     */
    void commit(Write write, List<WrittenSegment> segments, Consumer<Committed> done);

    /** Runs a commit that the write makes by itself. */
    default void runCommit(Runnable commit) {
        commit.run();
    }
}
