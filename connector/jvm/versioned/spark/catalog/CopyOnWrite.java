package versioned.spark.catalog;

import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.protocol.Term;
import versioned.spark.python.TableRefs;
import versioned.spark.python.Terms;
import versioned.spark.scan.RewrittenScanBuilder;
import versioned.spark.write.Rewrite;
import versioned.spark.write.VersionedWriteBuilder;

/** A DELETE, UPDATE or MERGE by copy on write: segments with rows to change are read whole and rewritten. */
public final class CopyOnWrite extends RowChange implements Rewrite {
    private RewrittenScanBuilder read;

    CopyOnWrite(VersionedTable table, Command command) {
        super(table, command);
    }

    @Override
    public String description() {
        return command() + " by copy on write of " + TableRefs.label(table().ref());
    }

    /** Spark reads the segment of each row, so that a runtime filter can leave out segments without rows to change. */
    @Override
    public NamedReference[] requiredMetadataAttributes() {
        return Stream.concat(Stream.of(RewrittenScanBuilder.segmentOf(table().schema())), Stream.of(unseen()))
            .toArray(NamedReference[]::new);
    }

    @Override
    public StructType carried() {
        StructType carried = new StructType();
        for (NamedReference segment : RewrittenScanBuilder.segmentOf(table().schema())) {
            carried = carried.add(segment.fieldNames()[0], DataTypes.StringType);
        }
        for (StructField column : table().unseen().fields()) {
            carried = carried.add(column);
        }
        return carried;
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        read = new RewrittenScanBuilder(table().ref(), table().schema(), table().isPartitioned(), options);
        return read;
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        return new VersionedWriteBuilder(table(), info, this);
    }

    @Override
    public List<Term> filters() {
        return readsAll() ? List.of() : Terms.of(read().filters());
    }

    @Override
    public List<String> removed() {
        return read().replaced();
    }

    @Override
    public List<String> fixRemoved() {
        return read().fix();
    }

    /** If no row stays, as Spark may see before it builds a scan, it builds none; then every segment is replaced. */
    private RewrittenScanBuilder read() {
        if (read == null) {
            read = new RewrittenScanBuilder(table().ref(), table().schema(), table().isPartitioned(),
                CaseInsensitiveStringMap.empty());
            read.build();
            read.fix();
        }
        return read;
    }
}
