package versioned.spark.catalog;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.connector.catalog.Changelog;
import org.apache.spark.sql.connector.catalog.ChangelogContext;
import org.apache.spark.sql.connector.catalog.ChangelogContext.DeduplicationMode;
import org.apache.spark.sql.connector.catalog.ChangelogRange.TimestampRange;
import org.apache.spark.sql.connector.catalog.ChangelogRange.VersionRange;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.execution.datasources.v2.ChangelogTable;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.protocol.*;
import versioned.spark.python.Condition;
import versioned.spark.python.Python;
import versioned.spark.python.TableOptions;
import versioned.spark.python.VersionedException;
import versioned.spark.scan.AskedChanges;
import versioned.spark.scan.ChangesScanBuilder;

/**
 * The changes between versions of a table. Python finds them as they are asked for, so Spark has nothing to compute. Only
 * Spark 4.3 and newer can load this class.
 */
public final class VersionedChangelog implements Changelog {
    private final TableRef table;
    private final AskedChanges asked;
    private final Column[] columns;

    private VersionedChangelog(TableRef table, List<LoadedColumn> columns, AskedChanges asked) {
        this.table = table;
        this.asked = asked;
        this.columns = Columns.of(columns, Map.of());
    }

    /** Whether Spark's wrapper of changes holds those of a versioned table. */
    public static boolean isIn(Table table) {
        return table instanceof ChangelogTable wrapper && wrapper.changelog() instanceof VersionedChangelog;
    }

    /** Loads the changes that a statement asks for, in the schema that options choose. */
    public static Changelog load(CatalogRequests requests, Identifier ident, ChangelogContext context,
            CaseInsensitiveStringMap options) throws NoSuchTableException {
        Table loaded = requests.load(ident, null, null, false, options);
        if (!(loaded instanceof VersionedTable versioned)) {
            throw Condition.NOT_SUPPORTED.error(loaded.name() + " is no table with rows, so it has no changes");
        }
        TableOptions.accepted(versioned.name(), true, options, TableOptions.CHANGES, TableOptions.CHANGE_STREAM);
        return load(versioned.ref(), range(context));
    }

    private static Changelog load(TableRef table, ChangeRange range) {
        try {
            LoadedChanges found = Python.send(new LoadChanges(table, range));
            return new VersionedChangelog(table, found.columns(), new AskedChanges(table.name(), range, found.changes(), null));
        } catch (Exception e) { // Java is not told of ours
            if (!(e instanceof VersionedException problem) || range.end() != null || range.endTime() != null) {
                throw VersionedException.<RuntimeException>unchecked(e);
            }
            ChangeRange none = new ChangeRange(null, null, null, null, true, true, range.net(), range.carryovers(), range.updates());
            LoadedChanges found = Python.send(new LoadChanges(table, none));
            return new VersionedChangelog(table, found.columns(), new AskedChanges(table.name(), range, null, problem));
        }
    }

    private static ChangeRange range(ChangelogContext context) {
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
        return new ChangeRange(null, null, null, null, true, true, net, carryovers, updates);
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
        return new ChangesScanBuilder(table, asked,
            TableOptions.accepted(table.name(), true, options, TableOptions.CHANGES, TableOptions.CHANGE_STREAM),
            CharVarcharUtils.replaceCharVarcharWithStringInSchema(Columns.schema(columns)));
    }
}
