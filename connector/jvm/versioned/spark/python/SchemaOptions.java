package versioned.spark.python;

import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.protocol.TableRef;

/** How a session, a statement or a DataFrame chooses the schema in which it uses a table. */
public final class SchemaOptions {
    /** Label of a schema pin, or a schema version. */
    public static final String SCHEMA_VERSION = "schemaVersion";

    /** What is shown of a value that does not fit its type in that schema: {@code error} or {@code null}. */
    public static final String ON_OVERFLOW = "onOverflow";

    private static final String MAIN = "main";

    /** A branch of the table. */
    public static final String BRANCH = "branch";

    private SchemaOptions() {}

    /** The options by which Spark loads a table, since Spark 4.3. */
    public static Set<String> keys() {
        return Set.of(SCHEMA_VERSION, ON_OVERFLOW, BRANCH);
    }

    /** Whether options choose the schema, or a branch. */
    public static boolean isAsked(CaseInsensitiveStringMap options) {
        return keys().stream().anyMatch(options::containsKey);
    }

    /** The setting that names the schema pin of a session. */
    public static String labelKey(String catalog) {
        return "spark.sql.catalog." + catalog + ".schema_label";
    }

    /** The schema pin of this session; null for none. */
    public static String label(String catalog) {
        String label = SQLConf.get().getConfString(labelKey(catalog), "").trim();
        return label.isEmpty() ? null : label;
    }

    /**
     * Refuses options by which the table was not loaded: Spark passes them to the catalog since 4.3, and not in every kind
     * of write.
     */
    public static void check(TableRef table, CaseInsensitiveStringMap options) {
        String schema = options.get(SCHEMA_VERSION);
        String overflow = options.get(ON_OVERFLOW);
        if (schema != null && !Objects.equals(schema, table.seen())) {
            throw notLoadedBy(table, SCHEMA_VERSION);
        }
        if (overflow != null && !overflow.toLowerCase(Locale.ROOT).equals(table.overflow())) {
            throw notLoadedBy(table, ON_OVERFLOW);
        }
        String branch = options.get(BRANCH);
        if (branch != null && table.branch() == null && !branch.equals(MAIN)) {
            throw notLoadedBy(table, BRANCH);
        }
    }

    private static RuntimeException notLoadedBy(TableRef table, String option) {
        return Condition.NOT_SUPPORTED.error(table.name() + ": the option " + option + " has no effect here, since Spark "
            + "loaded the table without it (by name, that needs Spark 4.3); " + (option.equals(BRANCH)
                ? "name the branch as in db.t.branch_b" : "set the schema label of the catalog "
                + "(spark.sql.catalog.<name>.schema_label)") + ", or use format(\"versioned\") with the option");
    }

    /** Refuses to write rows that were read with nulls in place of values that do not fit. */
    public static void checkWritable(TableRef table) {
        if (table.overflow().equals("null")) {
            throw Condition.NOT_SUPPORTED.error(table.name() + ": a statement that changes rows can't show null for values "
                + "that do not fit, since it would write the nulls back; leave out " + ON_OVERFLOW);
        }
    }
}
