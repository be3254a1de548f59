package versioned.spark.catalog;

import java.util.List;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsDelta;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.python.TableRefs;
import versioned.spark.python.Terms;
import versioned.spark.scan.VersionedScanBuilder;
import versioned.spark.write.DeltaRowsBuilder;

/** A DELETE, UPDATE or MERGE of a table with a primary key: changes are written by key. */
public final class DeltaOperation extends RowChange implements SupportsDelta {
    private final List<String> rowKey;
    private VersionedScanBuilder read;

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

    /** A DELETE needs no old values. */
    @Override
    public NamedReference[] requiredMetadataAttributes() {
        return command() == Command.DELETE ? new NamedReference[0] : unseen();
    }

    /** Without runtime filters: they would read the matching rows twice, and fail for a column that is a map. */
    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        read = new VersionedScanBuilder(table().ref(), table().schema(), options, false);
        return read;
    }

    /** Spark builds the write after the scan, so that its filters are known. */
    @Override
    public DeltaWriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        List<Predicate> filters = readsAll() || read == null ? List.of() : read.filters();
        StructType carried = command() == Command.DELETE ? new StructType() : table().unseen();
        return new DeltaRowsBuilder(table(), table().schema(), carried, rowKey, operation(), Terms.of(filters), info);
    }
}
