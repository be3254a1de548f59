package versioned.spark.catalog;

import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.constraints.Constraint;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;
import versioned.spark.protocol.*;
import versioned.spark.python.Commits;
import versioned.spark.python.SchemaOptions;
import versioned.spark.write.VersionedWriteBuilder;
import versioned.spark.write.WriteTarget;

/** A table that is created, or replaces another, in one commit with its rows. */
public final class StagedVersionedTable implements StagedTable, SupportsWrite, WriteTarget {
    private final VersionedTable described;
    private final Stage stage;
    private final Placement placement;
    private final WritePlan plan;
    private final String commitId = Commits.newId();
    private boolean fromQuery;
    private Long readVersion;
    private List<WrittenSegment> segments = List.of();

    private StagedVersionedTable(VersionedTable described, Stage stage, Placement placement, WritePlan plan) {
        this.described = described;
        this.stage = stage;
        this.placement = placement;
        this.plan = plan;
    }

    /** A table that was staged. */
    public static StagedVersionedTable of(Stage request, Staged staged) {
        CatalogRequests.log(staged.warnings());
        return new StagedVersionedTable(VersionedTable.newest(staged.table()), request, staged.placement(), staged.plan());
    }

    @Override
    public TableRef ref() {
        return described.ref();
    }

    @Override
    public WritePlan plan() {
        return plan;
    }

    @Override
    public Creation creation() {
        return new Creation(stage.catalog(), stage.declaration(), placement, fromQuery, readVersion);
    }

    /** Python may have committed already; it recognizes the commit by its ID. */
    @Override
    public String commitId() {
        return commitId;
    }

    @Override
    public void commit(Write write, List<WrittenSegment> written, Consumer<Committed> done) {
        segments = written;
    }

    @Override
    public String name() {
        return described.name();
    }

    @Override
    public Column[] columns() {
        return described.columns();
    }

    @Override
    public StructType schema() {
        return described.schema();
    }

    @Override
    public Transform[] partitioning() {
        return described.partitioning();
    }

    @Override
    public Constraint[] constraints() {
        return described.constraints();
    }

    @Override
    public Map<String, String> properties() {
        return described.properties();
    }

    @Override
    public Set<TableCapability> capabilities() {
        return EnumSet.of(TableCapability.BATCH_WRITE, TableCapability.TRUNCATE);
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        fromQuery = true;
        SchemaOptions.check(described.ref(), info.options());
        return new VersionedWriteBuilder(this, info, false);
    }

    /** Notes that its rows are computed from another table, which may be the one that it replaces. */
    public void reads(VersionedTable other) {
        if (other.ref().location().equals(described.ref().location()) && !other.isPast()) {
            long version = other.ref().version();
            readVersion = readVersion == null ? version : Math.min(version, readVersion);
        }
    }

    @Override
    public void commitStagedChanges() {
        Commits.send(new CommitStage(creation(), segments), commitId);
    }

    @Override
    public void abortStagedChanges() {
        // Nothing exists yet but segments that no table knows; vacuum deletes them.
    }
}
