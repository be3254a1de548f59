package versioned.spark.catalog;

/** What becomes of a statement whose commit lost to another one. */
@FunctionalInterface
public interface Rerun {
    /** It fails. */
    Rerun NEVER = Runnable::run;

    /**
     * Commits; where the commit loses, the statement may be run again as a whole, which commits then.
     *
     * @param commit fails with a conflict if it lost
     */
    void commit(Runnable commit);
}
