package versioned.spark.catalog;

import java.util.List;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import versioned.spark.python.TableRefs;
import versioned.spark.write.DeltaRowsBuilder;
import versioned.spark.write.Statement;

/** A DELETE, UPDATE or MERGE of a table with a primary key: changes are written by key. */
public final class DeltaOperation extends DeltaChange {
    private final List<String> rowKey;

    DeltaOperation(VersionedTable table, Command command, List<String> rowKey) {
        super(table, command);
        this.rowKey = rowKey;
    }

    @Override
    public String description() {
        return command() + " by key of " + TableRefs.label(table().ref());
    }

    @Override
    public NamedReference[] rowId() {
        return rowKey.stream().map(FieldReference::column).toArray(NamedReference[]::new);
    }

    @Override
    public DeltaWriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        return new DeltaRowsBuilder(table(), table().schema(), carried(), rowKey, operation(), filters(),
            new Statement(condition()), info);
    }
}
