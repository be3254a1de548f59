package versioned.spark.catalog;

import java.util.List;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.SupportsDelta;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.protocol.Term;
import versioned.spark.python.Terms;
import versioned.spark.scan.VersionedScanBuilder;

/** A DELETE, UPDATE or MERGE that reads only rows to change, and writes what becomes of each. */
public abstract class DeltaChange extends RowChange implements SupportsDelta {
    private VersionedScanBuilder read;

    DeltaChange(VersionedTable table, Command command) {
        super(table, command);
    }

    /** A DELETE needs no old values. */
    @Override
    public final NamedReference[] requiredMetadataAttributes() {
        return command() == Command.DELETE ? new NamedReference[0] : unseen();
    }

    /** The metadata columns that Spark passes with each row that replaces another. */
    public final StructType carried() {
        return command() == Command.DELETE ? new StructType() : table().unseen();
    }

    /** Without runtime filters: they would read the matching rows twice, and fail for a column that is a map. */
    @Override
    public final ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        read = new VersionedScanBuilder(table().ref(), table().schema(), table().isPartitioned(), table().isKeyed(),
            options, false);
        return read;
    }

    /** The rows that the statement read. Spark builds the write after the scan, so that its filters are known. */
    public final List<Term> filters() {
        return readsAll() || read == null ? List.of() : Terms.of(read.filters());
    }
}
