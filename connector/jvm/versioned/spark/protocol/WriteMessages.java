package versioned.spark.protocol;

import java.io.Serializable;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.StructType;
import versioned.spark.protocol.CommonMessages.CatalogRef;
import versioned.spark.protocol.CommonMessages.Term;
import versioned.spark.protocol.TableMessages.Declaration;
import versioned.spark.protocol.TableMessages.LoadedTable;
import versioned.spark.protocol.TableMessages.PartitionTransform;

/** Requests about writes, and their responses. See {@code connector/PROTOCOL.md}. */
public interface WriteMessages {
    record PlanWrite(TableRef table, @Nullable Creation creation, StructType schema, List<Term> filters,
            List<String> options, boolean lengthsChecked, @Nullable String distributionMode,
            @Nullable List<String> carried, @Nullable String changeColumn)
            implements Request<WritePlan> {}

    record OpenSink(Map<String, String> options, StructType schema) implements Request<LoadedTable> {}

    record RebaseStream(TableRef table, @Nullable String seen, List<String> options) implements Request<Rebased> {}

    record Rebased(TableRef table) {}

    record WritePlan(boolean isNative, String prefix, StructType schema, Map<String, Integer> ids,
            Map<String, String> footer, long targetBytes, List<PartitionSource> partitioning,
            Distribution distribution, @Nullable StoredRows rows) {}

    record StoredRows(StructType schema, List<ColumnSource> sources) {}

    /** Where the value of a stored column comes from. */
    sealed interface ColumnSource extends Variant permits GivenColumn, UnseenColumn {}

    record GivenColumn(int index, @Nullable Integer carried, @Nullable List<ColumnSource> fields)
            implements ColumnSource {}

    record UnseenColumn(@Nullable Integer carried, @Nullable String defaultValue) implements ColumnSource {}

    record PartitionSource(int[] ordinals, String transform, @Nullable Integer size) implements Serializable {}

    record Distribution(String mode, List<SortKey> by, long bytes, List<SortKey> orderBy) {}

    /** One of several messages. */
    sealed interface SortKey extends Variant permits TransformKey, HashKey {}

    record TransformKey(PartitionTransform by, boolean descending) implements SortKey {}

    record HashKey(List<PartitionTransform> by) implements SortKey {}

    record PlanDelta(TableRef table, @Nullable List<String> carried) implements Request<DeltaPlan> {}

    record DeltaPlan(Distribution distribution, @Nullable StoredRows rows) {}

    record WrittenSegment(String path, long rows, long bytes, List<@Nullable String> partition, byte[] footer)
            implements Serializable {}

    record Write(TableRef table, String mode, String operation, List<Term> filters, boolean ownRows,
            List<String> removed, @Nullable WriteBatch batch, @Nullable String changeColumn) {}

    record WriteBatch(@Nullable String application, @Nullable String number, boolean epoch) {}

    record CommitWrite(Write write, List<WrittenSegment> segments) implements CommittingRequest<Committed> {}

    record Committed(long version) {}

    record PythonCommit(String commitId, @Nullable Write write, @Nullable Creation creation,
            boolean stored) {}

    record Truncate(TableRef table) implements CommittingRequest<Committed> {}

    record CanDelete(TableRef table, List<Term> filters) implements Request<Whole> {}

    record Whole(boolean whole) {}

    record Delete(TableRef table, List<Term> filters) implements CommittingRequest<Committed> {}

    record Stage(CatalogRef catalog, Declaration declaration, String mode) implements Request<Staged> {}

    record Staged(LoadedTable table, Placement placement) {}

    record Placement(String mode, String folder, String tableUuid, long baseVersion, long firstColumnId,
            @Nullable String replacedUuid) {}

    record Creation(CatalogRef catalog, Declaration declaration, Placement placement, boolean fromQuery,
            @Nullable Long readVersion) {}

    record CommitStage(Creation creation, List<WrittenSegment> segments) implements CommittingRequest<Committed> {}
}
