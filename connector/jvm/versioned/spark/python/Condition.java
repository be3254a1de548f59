package versioned.spark.python;

/** The error conditions that the jar raises itself; all conditions are in {@code versioned_catalog.errors}. */
public enum Condition {
    COMMIT_OUTCOME_UNKNOWN("40003"),
    INVALID_OPTION("42616"),
    INVALID_VALUE("22023"),
    KEY_NOT_UPDATABLE("42808"),
    NOT_SUPPORTED("0A000"),
    PYTHON_UNREACHABLE("58000"),
    READ_ONLY("42809"),
    TABLE_CORRUPT("XX001");

    private final String sqlState;

    Condition(String sqlState) {
        this.sqlState = sqlState;
    }

    /** The condition's name in errors. */
    public String fullName() {
        return "VERSIONED_" + name();
    }

    /** The text of an error of this condition, for an exception of Spark's. */
    public String text(String message) {
        return VersionedException.text(fullName(), sqlState, message);
    }

    /**
     * Throws an exception of this condition, without declaring it, as Scala does.
     *
     * @return never; for {@code throw error(...)}
     */
    public RuntimeException error(String message) {
        throw VersionedException.<RuntimeException>unchecked(new VersionedException(fullName(), sqlState, message));
    }
}
