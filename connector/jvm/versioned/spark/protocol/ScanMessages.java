package versioned.spark.protocol;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import versioned.spark.protocol.ChangeMessages.Change;
import versioned.spark.protocol.ChangeMessages.TypedValue;
import versioned.spark.protocol.CommonMessages.Term;

/** Requests about reads, and their responses. See {@code connector/PROTOCOL.md}. */
public interface ScanMessages {
    record PlanScan(TableRef table, StructType schema, List<Term> filters, @Nullable Integer limit,
            boolean allowNative) implements Request<ScanPlan> {}

    record ScanPlan(List<ReadGroup> groups, Segments segments, long live, List<String> layout) {}

    record Segments(int[] group, List<String> path, int[] schemaVersion, long[] rows, long[] bytes, long[] sequence,
            long[] commitTime, List<@Nullable Long> rowSequence, List<@Nullable String> url,
            List<List<@Nullable String>> constants) {}

    /** A way of reading. */
    sealed interface ReadGroup extends Variant permits PythonGroup, NativeGroup {}

    record PythonGroup() implements ReadGroup {}

    record NativeGroup(StructType readSchema, boolean rowPosition, List<ConstantColumn> constants, int[] order,
            int[] filters, List<PhysicalName> names, List<NarrowedColumn> narrowed, boolean isForeign)
            implements ReadGroup {}

    record NarrowedColumn(int index, String name, DataType stored, DataType shown) implements Serializable {}

    record ConstantColumn(String name, DataType type, @Nullable String member, @Nullable String value,
            @Nullable Integer place) {}

    record PhysicalName(List<String> column, List<String> physical) {}

    record SegmentRead(List<String> paths, List<Change> pending, List<Term> filters) {}

    record EstimateColumns(TableRef table, StructType schema, List<Term> filters)
            implements Request<ColumnEstimates> {}

    record ColumnEstimates(List<ColumnStatistics> columns) {}

    record ColumnStatistics(String name, DataType type, @Nullable Long nulls, @Nullable Long distinct,
            @Nullable String least, @Nullable String greatest) {}

    record Aggregate(TableRef table, List<AggregateFunction> functions) implements Request<Aggregates> {}

    record AggregateFunction(String function, @Nullable List<String> column) {}

    record Aggregates(@Nullable List<TypedValue> values) {}
}
