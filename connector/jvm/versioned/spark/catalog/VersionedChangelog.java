package versioned.spark.catalog;

import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.Changelog;
import org.apache.spark.sql.connector.catalog.ChangelogContext;
import org.apache.spark.sql.connector.catalog.ChangelogContext.DeduplicationMode;
import org.apache.spark.sql.connector.catalog.ChangelogRange.TimestampRange;
import org.apache.spark.sql.connector.catalog.ChangelogRange.VersionRange;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.protocol.TableMessages.ChangeRange;
import versioned.spark.protocol.TableMessages.LoadChanges;
import versioned.spark.protocol.TableMessages.LoadedChanges;
import versioned.spark.protocol.TableRef;
import versioned.spark.python.Condition;
import versioned.spark.python.Python;
import versioned.spark.scan.ChangesScanBuilder;

/**
 * The changes between versions of a table. Python finds them as they are asked for, so Spark has nothing to compute. Only
 * Spark 4.3 and newer can load this class.
 */
public final class VersionedChangelog implements Changelog {
    private final TableRef table;
    private final LoadedChanges loaded;
    private final Column[] columns;

    private VersionedChangelog(TableRef table, LoadedChanges loaded) {
        this.table = table;
        this.loaded = loaded;
        this.columns = Columns.of(loaded.columns());
    }

    /** Loads the changes that a statement asks for. */
    public static Changelog load(CatalogRequests requests, Identifier ident, ChangelogContext context)
            throws NoSuchTableException {
        TableRef table = ((VersionedTable) requests.load(ident, null, null)).ref();
        return new VersionedChangelog(table, Python.send(new LoadChanges(table, range(table, context))));
    }

    private static ChangeRange range(TableRef table, ChangelogContext context) {
        boolean net = context.deduplicationMode() == DeduplicationMode.NET_CHANGES;
        boolean carryovers = context.deduplicationMode() == DeduplicationMode.NONE;
        boolean updates = context.computeUpdates();
        if (context.range() instanceof VersionRange range) {
            return new ChangeRange(range.startingVersion(), range.endingVersion().orElse(null), null, null,
                range.startingBoundInclusive(), range.endingBoundInclusive(), net, carryovers, updates);
        }
        if (context.range() instanceof TimestampRange range) {
            return new ChangeRange(null, null, range.startingTimestamp(), range.endingTimestamp().orElse(null),
                range.startingBoundInclusive(), range.endingBoundInclusive(), net, carryovers, updates);
        }
        throw Condition.INVALID_OPTION.error(table.name() + ": changes need a first version; write CHANGES FROM VERSION "
            + "or FROM TIMESTAMP");
    }

    @Override
    public String name() {
        return table.name();
    }

    @Override
    public Column[] columns() {
        return columns;
    }

    @Override
    public boolean containsCarryoverRows() {
        return false;
    }

    @Override
    public boolean containsIntermediateChanges() {
        return false;
    }

    @Override
    public boolean representsUpdateAsDeleteAndInsert() {
        return false;
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        return new ChangesScanBuilder(table, loaded.changes(), Columns.schema(columns));
    }
}
