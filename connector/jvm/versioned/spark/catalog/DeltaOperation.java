package versioned.spark.catalog;

import java.util.List;
import java.util.Locale;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsDelta;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.python.Terms;
import versioned.spark.scan.VersionedScanBuilder;
import versioned.spark.write.DeltaRowsBuilder;

/** A DELETE, UPDATE or MERGE of a table with a primary key: changes are written by key. */
public final class DeltaOperation implements RowChange, SupportsDelta {
    private final VersionedTable table;
    private final Command command;
    private final List<String> rowKey;
    private VersionedScanBuilder read;
    private boolean readsAll;

    DeltaOperation(VersionedTable table, Command command, List<String> rowKey) {
        this.table = table;
        this.command = command;
        this.rowKey = rowKey;
    }

    @Override
    public VersionedTable table() {
        return table;
    }

    @Override
    public void readsAll() {
        readsAll = true;
    }

    @Override
    public Command command() {
        return command;
    }

    @Override
    public String description() {
        return command + " by key of " + table.ref();
    }

    @Override
    public NamedReference[] rowId() {
        return rowKey.stream().map(FieldReference::column).toArray(NamedReference[]::new);
    }

    /** Without runtime filters: they would read the matching rows twice, and fail for a column that is a map. */
    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        read = new VersionedScanBuilder(table.ref(), table.schema(), options, false);
        return read;
    }

    /** Spark builds the write after the scan, so that its filters are known. */
    @Override
    public DeltaWriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        List<Predicate> filters = readsAll || read == null ? List.of() : read.filters();
        return new DeltaRowsBuilder(table, table.schema(), rowKey, command.name().toLowerCase(Locale.ROOT),
            Terms.of(filters), info);
    }
}
