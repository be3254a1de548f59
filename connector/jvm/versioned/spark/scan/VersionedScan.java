package versioned.spark.scan;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportOrdering;
import org.apache.spark.sql.connector.read.SupportsReportPartitioning;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.connector.read.partitioning.KeyGroupedPartitioning;
import org.apache.spark.sql.connector.read.partitioning.Partitioning;
import org.apache.spark.sql.connector.read.partitioning.UnknownPartitioning;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.internals.HadoopFolders;
import versioned.spark.internals.Metric;
import versioned.spark.internals.SparkParquetReading;
import versioned.spark.internals.VariantFields;
import versioned.spark.protocol.Grouping;
import versioned.spark.protocol.PlanScan;
import versioned.spark.protocol.StreamRef;
import versioned.spark.protocol.TableRef;
import versioned.spark.python.PathOptions;
import versioned.spark.python.TableOptions;
import versioned.spark.python.TableRefs;
import versioned.spark.python.Terms;
import versioned.spark.python.Transforms;

/** The rows of one snapshot, read by Spark's own Parquet reader where that is exact, else by Python. */
class VersionedScan implements Scan, Batch, SupportsReportStatistics, SupportsReportPartitioning,
        SupportsReportOrdering, SupportsRuntimeV2Filtering {
    private final TableRef table;
    private final CaseInsensitiveStringMap options;
    private final StructType shown;
    private final StructType wanted; // the columns that are shown, with whole variants
    private final int rowWidth;
    private final List<Predicate> filters;
    private final Integer limit;
    private final boolean isPartitioned;
    private final boolean isKeyed;
    private final boolean isFiltered;
    private final boolean isNative;
    private ScanPlan plan;
    private Set<String> kept; // paths of the segments that runtime filters leave; null for all
    private ScanPlan narrowed; // by runtime filters; only the tasks of Python are read by it
    private List<Predicate> runtimeFilters = List.of();
    private PartitionReaderFactory factory;
    private long planningNanos;
    private boolean isStream;

    /**
     * @param shown the columns, with fields of variants in place of those of which only these are asked
     * @param rowWidth the size of a row of all columns, by Spark's defaults for their types
     * @param isKeyed whether segments are sorted by a row key
     */
    VersionedScan(TableRef table, CaseInsensitiveStringMap options, StructType shown, int rowWidth,
            List<Predicate> filters, Integer limit, boolean isPartitioned, boolean isKeyed,
            boolean isFiltered) {
        this.table = table;
        this.options = options;
        this.shown = shown;
        this.wanted = VariantFields.whole(shown);
        this.rowWidth = rowWidth;
        this.filters = NormalFilters.of(filters);
        this.limit = limit;
        this.isPartitioned = isPartitioned;
        this.isKeyed = isKeyed;
        this.isFiltered = isFiltered;
        this.isNative = isNative(table, options);
    }

    /** Whether Spark reads what it can read exactly. */
    static boolean isNative(TableRef table, CaseInsensitiveStringMap options) {
        return !TableOptions.isPython(options) && HadoopFolders.isReachable(table.hadoop());
    }

    private synchronized ScanPlan plan() {
        if (plan == null) {
            plan = plan(filters, limit, null, isGrouped());
        }
        return plan;
    }

    private boolean isGrouped() {
        return isPartitioned && SQLConf.get().v2BucketingEnabled();
    }

    private ScanPlan plan(List<Predicate> filters, Integer limit, List<String> inPython, boolean isGrouped) {
        long start = System.nanoTime();
        try {
            return ScanPlan.of(RecentPlans.of(
                new PlanScan(table, wanted, Terms.of(filters), limit, isNative, isWhole(), isGrouped, isKeyed, inPython)));
        } finally {
            planningNanos += System.nanoTime() - start;
        }
    }

    /** The segments left by runtime filters. Indexes of groups stay the same. */
    final synchronized List<ScanPlan.Segment> segments() {
        return kept == null ? plan().segments()
            : plan().segments().stream().filter(segment -> kept.contains(segment.path())).toList();
    }

    @Override
    public StructType readSchema() {
        return shown;
    }

    @Override
    public Batch toBatch() {
        return this;
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
        isStream = true;
        return VersionedStream.ofRows(new StreamRef(table, PathOptions.ofStream(options)), wanted, isNative);
    }

    @Override
    public Statistics estimateStatistics() {
        boolean isEstimated = !isWhole() && !SQLConf.get().cboEnabled(); // which estimates filters by itself
        long rows = isEstimated ? plan().matchingRows() : plan().rows();
        return new ScanStatistics(table, wanted, filters, rows, ScanStatistics.size(plan(), rows, shown, rowWidth));
    }

    /** By partition values, if Spark is set to use them and they are those of all rows of a task. */
    @Override
    public Partitioning outputPartitioning() {
        if (isStream || !isGrouped() || plan().grouping() == null) {
            return new UnknownPartitioning(0);
        }
        Grouping grouping = plan().grouping();
        return new KeyGroupedPartitioning(grouping.fields().stream().map(Transforms::expression)
            .toArray(Expression[]::new), grouping.values().size());
    }

    /**
     * The row key, as far as each partition is sorted by it; and columns whose partition values all rows of one share. Runtime
     * filters leave out segments of a partition, which keeps the order of the others.
     */
    @Override
    public SortOrder[] outputOrdering() {
        boolean isGrouped = isGrouped();
        if (isStream || !isKeyed && !isGrouped) {
            return new SortOrder[0];
        }
        Set<String> names = new LinkedHashSet<>(plan().sortedBy());
        if (isGrouped && plan().grouping() != null) {
            plan().grouping().fields().stream().filter(field -> field.transform().equals("identity"))
                .map(field -> field.column().get(0)).filter(List.of(wanted.fieldNames())::contains).forEach(names::add);
        }
        return names.stream().map(name -> Expressions.sort(FieldReference.column(name), SortDirection.ASCENDING))
            .toArray(SortOrder[]::new);
    }

    /** Columns by which a runtime filter can skip segments; others would cost a query, and skip nothing. */
    @Override
    public NamedReference[] filterAttributes() {
        return isFiltered ? plan().layout().stream().map(FieldReference::column).toArray(NamedReference[]::new)
            : new NamedReference[0];
    }

    @Override
    public void filter(Predicate[] predicates) {
        List<Predicate> found = NormalFilters.of(List.of(predicates));
        List<Predicate> all = new ArrayList<>(filters);
        all.addAll(found);
        ScanPlan left = plan(all, null, plan().inPython(), false);
        synchronized (this) {
            runtimeFilters = found;
            narrowed = left;
            kept = left.segments().stream().map(ScanPlan.Segment::path).collect(Collectors.toSet());
        }
    }

    /** Reads only these segments. */
    final synchronized void keep(Set<String> paths) {
        List<String> inPython = plan().inPython();
        kept = paths;
        narrowed = inPython.isEmpty() ? plan : plan(filters, null, inPython.stream().filter(paths::contains).toList(), false);
    }

    @Override
    public InputPartition[] planInputPartitions() {
        List<InputPartition> partitions = Splits.pack(table, plan(), segments(), isWhole());
        partitions.addAll((narrowed == null ? plan() : narrowed).pythonPartitions(wanted));
        return partitions.toArray(InputPartition[]::new);
    }

    /** None of a stream, whose micro-batches are planned one by one. */
    @Override
    public CustomMetric[] supportedCustomMetrics() {
        return isStream ? new CustomMetric[0] : Metric.supported(ScanMetrics.ALL);
    }

    @Override
    public synchronized CustomTaskMetric[] reportDriverMetrics() {
        return isStream ? new CustomTaskMetric[0] : ScanMetrics.of(plan(), segments(),
            (narrowed == null ? plan() : narrowed).mergedGroups(), planningNanos);
    }

    /** Whether segments are read whole, by one task each; else filters may skip rows. */
    boolean isWhole() {
        return false;
    }

    @Override
    public synchronized PartitionReaderFactory createReaderFactory() {
        if (factory == null) { // adaptive execution calls this twice
            factory = SegmentReaderFactory.of(table, plan(), shown, isWhole() ? List.of() : filters,
                () -> SparkParquetReading.of(table.hadoop()));
        }
        return factory;
    }

    @Override
    public String description() {
        return getClass().getSimpleName() + " " + TableRefs.label(table) + " " + ways() + ", pruned: " + (plan().live() - segments().size())
            + " of " + plan().live() + ", filters: " + filters + (limit == null ? "" : ", limit: " + limit)
            + (shown == wanted ? "" : ", extracted: " + VariantFields.text(shown));
    }

    private String ways() {
        Map<String, TreeMap<Integer, Long>> counted = segments().stream().collect(Collectors.groupingBy(
            segment -> plan().isNative(segment) ? "native" : "python", TreeMap::new,
            Collectors.groupingBy(ScanPlan.Segment::schemaVersion, TreeMap::new, Collectors.counting())));
        return "segments by schema version: " + counted;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof VersionedScan scan && getClass() == scan.getClass() && TableRefs.identity(table).equals(TableRefs.identity(scan.table)) && shown.equals(scan.shown)
            && filters.equals(scan.filters) && Objects.equals(limit, scan.limit) && isNative == scan.isNative
            && Objects.equals(kept, scan.kept) && runtimeFilters.equals(scan.runtimeFilters);
    }

    @Override
    public int hashCode() {
        return Objects.hash(TableRefs.identity(table), shown, filters, limit);
    }
}
