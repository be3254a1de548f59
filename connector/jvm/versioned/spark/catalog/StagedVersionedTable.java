package versioned.spark.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.constraints.Constraint;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;
import versioned.spark.python.Commits;
import versioned.spark.python.Python;
import versioned.spark.write.VersionedWriteBuilder;

/** A table in the making, or one that will stand in another's place: one commit, with its rows or without. */
public final class StagedVersionedTable implements StagedTable, SupportsWrite {
    private final VersionedTable described;
    private final ObjectNode creation;
    private ObjectNode written;

    private StagedVersionedTable(VersionedTable described, ObjectNode creation) {
        this.described = described;
        this.creation = creation;
    }

    /** A table from the answer to {@code stage}. */
    public static StagedVersionedTable of(JsonNode loaded) {
        return new StagedVersionedTable(VersionedTable.newest(loaded), loaded.get("creation").deepCopy());
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
        creation.put("from_query", true);
        return new VersionedWriteBuilder(described.ref(), creation, info, request -> written = request);
    }

    /** Says that its rows are made of another table's, which may be the one that it replaces. */
    public void reads(VersionedTable other) {
        if (other.ref().location().equals(described.ref().location()) && !other.isPast()) {
            long version = other.ref().version();
            long before = creation.path("read_version").asLong(version);
            creation.put("read_version", Math.min(version, before));
        }
    }

    @Override
    public void commitStagedChanges() {
        ObjectNode request = written != null ? written : Python.JSON.createObjectNode();
        request.set("creation", creation);
        Commits.ask("commit_stage", request);
    }

    @Override
    public void abortStagedChanges() {
        // Nothing is there yet but segments that no table knows; vacuum takes them.
    }
}
