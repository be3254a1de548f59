package versioned.spark.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import versioned.spark.protocol.ChangeMessages.Change;
import versioned.spark.protocol.ChangeMessages.Constraint;
import versioned.spark.protocol.ChangeMessages.Default;
import versioned.spark.protocol.CommonMessages.CatalogRef;
import versioned.spark.protocol.CommonMessages.Done;
import versioned.spark.protocol.CommonMessages.Term;

/** Requests about tables, and their responses. See {@code connector/PROTOCOL.md}. */
public interface TableMessages {
    record Load(CatalogRef catalog, List<String> name, @Nullable String version, @Nullable Long timestamp,
            boolean views, boolean writes, @Nullable String schemaVersion, @Nullable String overflow)
            implements Request<Loaded> {}

    record LoadRelation(CatalogRef catalog, List<String> name, @Nullable String within) implements Request<Loaded>
            {}

    record Loaded(Relation relation, List<String> warnings) {}

    /** What a name refers to. */
    sealed interface Relation extends Variant permits LoadedTable, LoadedMetadata, LoadedView {}

    record LoadedTable(TableRef table, List<LoadedColumn> columns, List<LoadedColumn> metadataColumns,
            List<PartitionTransform> partitioning, @Nullable PrimaryKey primaryKey, List<String> rowKey,
            Map<String, String> properties, @Nullable String comment, List<LoadedColumn> unseen)
            implements Relation {}

    record LoadedColumn(long id, String name, DataType type, boolean nullable, @Nullable String comment,
            @Nullable String defaultValue) {}

    record PartitionTransform(List<String> column, String transform, @Nullable Integer size) {}

    record PrimaryKey(String name, List<String> columns, boolean rely) {}

    record LoadedMetadata(TableRef table, String metadata, StructType schema) implements Relation {}

    record LoadedView(ViewDefinition view, String within) implements Relation {}

    record ViewDefinition(String sql, List<ViewColumn> columns, List<String> queryColumns, @Nullable String catalog,
            List<String> namespace, String schemaMode, @Nullable String comment, Map<String, String> properties,
            Map<String, String> settings) {}

    record ViewColumn(String name, String type, boolean nullable, @Nullable String comment) {}

    record LoadFormat(Map<String, String> options) implements Request<LoadedTable> {}

    record FormatExists(Map<String, String> options) implements Request<Exists> {}

    record Exists(boolean exists) {}

    record Create(CatalogRef catalog, Declaration declaration, @Nullable Like like)
            implements CommittingRequest<LoadedTable> {}

    record Declaration(List<String> name, List<DeclaredColumn> columns, List<String> partitioning,
            List<Constraint> constraints, Map<String, String> properties, String defaultProvider) {}

    record DeclaredColumn(String name, DataType type, boolean nullable, @Nullable String comment,
            @Nullable Default defaultValue) {}

    record Like(TableRef table, Map<String, String> properties) {}

    record Alter(CatalogRef catalog, List<String> name, List<Change> changes) implements CommittingRequest<Altered>
            {}

    record Altered(LoadedTable table, List<String> warnings) {}

    record Evolve(TableRef table, List<Change> changes) implements Request<LoadedTable> {}

    record RefuseRows(TableRef table, StructType schema) implements Request<Done> {}

    record NeedsChange(TableRef table, Change change) implements Request<Needed> {}

    record Needed(boolean needed) {}

    record Drop(CatalogRef catalog, List<String> name) implements CommittingRequest<Dropped> {}

    record Dropped(boolean dropped) {}

    record Rename(CatalogRef catalog, List<String> name, List<String> newName) implements CommittingRequest<Renamed>
            {}

    record Renamed(List<String> warnings) {}

    record ListPartitions(TableRef table) implements Request<Partitions> {}

    record Partitions(List<PartitionColumn> fields, List<List<@Nullable String>> rows) {}

    record PartitionColumn(String name, DataType type) {}

    record LoadChanges(TableRef table, ChangeRange range) implements Request<LoadedChanges> {}

    record ChangeRange(@Nullable String start, @Nullable String end, @Nullable Long startTime, @Nullable Long endTime,
            boolean startInclusive, boolean endInclusive, boolean net, boolean carryovers, boolean updates) {}

    record LoadedChanges(List<LoadedColumn> columns, VersionRange changes) {}

    record VersionRange(long start, long end, boolean net, boolean carryovers, boolean updates, List<Term> filters) {
        /** The same range, of rows that satisfy filters. */
        public VersionRange where(List<Term> filters) {
            return new VersionRange(start, end, net, carryovers, updates, filters);
        }
    }

    record ReadMetadata(TableRef table, String metadata) implements Request<Rows> {}

    record Rows(List<List<JsonNode>> rows) {}

    record AcceptOptions(String table, List<String> uses, boolean named, Map<String, String> options)
            implements Request<Accepted> {}

    record CheckSave(TableRef table, Declaration declaration) implements Request<Done> {}

    record Accepted(Map<String, String> options) {}

    record CheckTransform(String transform, DataType type) implements Request<Applicability> {}

    record Applicability(@Nullable String refusal) {}
}
