package versioned.spark.write;

/** What happens to a statement whose commit conflicts with another. */
@FunctionalInterface
public interface Rerun {
    /** The statement fails. */
    Rerun NEVER = Runnable::run;

    /**
     * Commits, or runs the whole statement again, which commits then.
     *
     * @param commit throws the conflict
     */
    void commit(Runnable commit);
}
