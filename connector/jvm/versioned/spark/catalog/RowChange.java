package versioned.spark.catalog;

import java.util.Locale;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.write.RowLevelOperation;

/** A DELETE, UPDATE or MERGE of a table. */
public abstract class RowChange implements RowLevelOperation {
    private final VersionedTable table;
    private final Command command;
    private boolean readsAll;
    private String condition;

    RowChange(VersionedTable table, Command command) {
        this.table = table;
        this.command = command;
    }

    /** The table that is changed. */
    public final VersionedTable table() {
        return table;
    }

    @Override
    public final Command command() {
        return command;
    }

    /** {@code delete}, {@code update} or {@code merge}. */
    public final String operation() {
        return command.name().toLowerCase(Locale.ROOT);
    }

    /** The metadata columns that hold what the statement does not see of a row. */
    final NamedReference[] unseen() {
        return Stream.of(table.unseen().fieldNames()).map(FieldReference::column).toArray(NamedReference[]::new);
    }

    /** Whether rows that stay keep something that the statement does not see. */
    public final boolean keepsUnseen() {
        return !table.unseen().isEmpty();
    }

    /** Notes that the statement also reads the table elsewhere. */
    public final void readAll() {
        readsAll = true;
    }

    /** Notes the condition of the statement, in SQL. */
    public final void condition(String sql) {
        condition = sql;
    }

    /** The condition of the statement; null if it is not known. */
    public final String condition() {
        return condition;
    }

    final boolean readsAll() {
        return readsAll;
    }
}
