package versioned.spark.catalog;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Locale;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.python.Predicates;
import versioned.spark.python.Python;
import versioned.spark.scan.RewrittenScanBuilder;
import versioned.spark.write.Replaced;
import versioned.spark.write.VersionedWriteBuilder;

/** A DELETE, UPDATE or MERGE: the segments that hold rows to change are read whole, and written anew. */
public final class CopyOnWrite implements RowChange {
    private final VersionedTable table;
    private final Command command;
    private RewrittenScanBuilder read;
    private boolean readsAll;

    CopyOnWrite(VersionedTable table, Command command) {
        this.table = table;
        this.command = command;
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
        return command + " by copy on write of " + table.ref();
    }

    /** Spark asks for the segment of a row, so that it can leave out segments that hold none to change. */
    @Override
    public NamedReference[] requiredMetadataAttributes() {
        return RewrittenScanBuilder.segmentOf(table);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        read = new RewrittenScanBuilder(table, options);
        return read;
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        ObjectNode commit = table.ref().request().put("mode", "rewrite")
            .put("kind", command.name().toLowerCase(Locale.ROOT));
        return new VersionedWriteBuilder(table.ref(), commit, info, table.committer(),
            new Replaced() {
                @Override
                public ObjectNode now(ObjectNode request) {
                    return told(request, read().replaced());
                }

                @Override
                public ObjectNode ahead(ObjectNode request) {
                    return told(request, read().fix());
                }
            });
    }

    /** Where Spark sees, before it asks for a scan, that no row stays, it asks for none; then every segment goes. */
    private RewrittenScanBuilder read() {
        if (read == null) {
            read = new RewrittenScanBuilder(table, CaseInsensitiveStringMap.empty());
            read.build();
            read.fix();
        }
        return read;
    }

    private ObjectNode told(ObjectNode request, Iterable<String> replaced) {
        replaced.forEach(request.putArray("removed")::add);
        request.set("filters", Predicates.json(readsAll ? List.of() : read().filters()));
        return request;
    }
}
