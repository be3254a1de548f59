package versioned.spark.scan;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.internals.HadoopFolders;
import versioned.spark.internals.SparkParquetReading;
import versioned.spark.protocol.StreamRef;
import versioned.spark.protocol.TableRef;
import versioned.spark.python.PathOptions;
import versioned.spark.python.TableOptions;
import versioned.spark.python.TableRefs;

/** The rows of one snapshot, read by Spark's own Parquet reader where that is exact, else by Python. */
class VersionedScan implements Scan, Batch, SupportsReportStatistics, SupportsRuntimeV2Filtering {
    private final TableRef table;
    private final CaseInsensitiveStringMap options;
    private final StructType wanted;
    private final List<Predicate> filters;
    private final Integer limit;
    private final boolean isFiltered;
    private final boolean isNative;
    private ScanPlan plan;
    private Set<String> kept;
    private List<Predicate> runtimeFilters = List.of();
    private PythonSegments python;
    private PartitionReaderFactory factory;

    VersionedScan(TableRef table, CaseInsensitiveStringMap options, StructType wanted, List<Predicate> filters,
            Integer limit, boolean isFiltered) {
        this.table = table;
        this.options = options;
        this.wanted = wanted;
        this.filters = NormalFilters.of(filters);
        this.limit = limit;
        this.isFiltered = isFiltered;
        this.isNative = !TableOptions.isPython(options) && HadoopFolders.isReachable(table.hadoop());
    }

    private synchronized ScanPlan plan() {
        if (plan == null) {
            plan = ScanPlan.of(table, wanted, filters, limit, isNative);
        }
        return plan;
    }

    /** The segments left by runtime filters. Indexes of groups stay the same. */
    final synchronized List<ScanPlan.Segment> segments() {
        return kept == null ? plan().segments()
            : plan().segments().stream().filter(segment -> kept.contains(segment.path())).toList();
    }

    @Override
    public StructType readSchema() {
        return wanted;
    }

    @Override
    public Batch toBatch() {
        return this;
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
        return VersionedStream.ofRows(new StreamRef(table, PathOptions.ofStream(options)), wanted, isNative);
    }

    @Override
    public Statistics estimateStatistics() {
        return new ScanStatistics(table, wanted, filters, plan().rows());
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
        keep(ScanPlan.of(table, wanted, and(filters, found), null, false).segments().stream()
            .map(ScanPlan.Segment::path).collect(Collectors.toCollection(HashSet::new)));
        synchronized (this) {
            runtimeFilters = found;
        }
    }

    private static List<Predicate> and(List<Predicate> some, List<Predicate> others) {
        List<Predicate> all = new ArrayList<>(some);
        all.addAll(others);
        return all;
    }

    /** Reads only these segments. */
    final synchronized void keep(Set<String> paths) {
        kept = paths;
    }

    @Override
    public InputPartition[] planInputPartitions() {
        Map<Boolean, List<ScanPlan.Segment>> byReader =
            segments().stream().collect(Collectors.partitioningBy(plan()::isNative));
        List<InputPartition> partitions =
            new ArrayList<>(Splits.pack(table, plan(), byReader.get(true), isWhole()));
        if (!byReader.get(false).isEmpty()) {
            partitions.addAll(python(byReader.get(false)).partitions());
        }
        return partitions.toArray(InputPartition[]::new);
    }

    /** Whether segments are read whole, by one task each; else filters may skip rows. */
    boolean isWhole() {
        return false;
    }

    /** Python plans once for the partitions and the factory, which reads any partition of the scan. */
    private synchronized PythonSegments python(List<ScanPlan.Segment> segments) {
        List<Predicate> rows = isWhole() ? List.of() : and(filters, runtimeFilters);
        python = new PythonSegments(table, wanted, segments, rows);
        return python;
    }

    @Override
    public synchronized PartitionReaderFactory createReaderFactory() {
        if (factory == null) { // adaptive execution calls this twice
            List<ScanPlan.Segment> byPython = plan().segments().stream().filter(s -> !plan().isNative(s)).toList();
            PythonSegments read = python != null || byPython.isEmpty() ? python : python(byPython);
            PartitionReaderFactory other = read == null ? null : read.factory();
            factory = SegmentReaderFactory.of(table, plan(), wanted, isWhole() ? List.of() : filters,
                () -> SparkParquetReading.of(table.hadoop()), other);
        }
        return factory;
    }

    @Override
    public String description() {
        return getClass().getSimpleName() + " " + TableRefs.label(table) + " " + ways() + ", pruned: " + (plan().live() - segments().size())
            + " of " + plan().live() + ", filters: " + filters + (limit == null ? "" : ", limit: " + limit);
    }

    private String ways() {
        Map<String, TreeMap<Integer, Long>> counted = segments().stream().collect(Collectors.groupingBy(
            segment -> plan().isNative(segment) ? "native" : "python", TreeMap::new,
            Collectors.groupingBy(ScanPlan.Segment::schemaVersion, TreeMap::new, Collectors.counting())));
        return "segments by schema version: " + counted;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof VersionedScan scan && getClass() == scan.getClass() && TableRefs.identity(table).equals(TableRefs.identity(scan.table)) && wanted.equals(scan.wanted)
            && filters.equals(scan.filters) && Objects.equals(limit, scan.limit) && isNative == scan.isNative
            && Objects.equals(kept, scan.kept) && runtimeFilters.equals(scan.runtimeFilters);
    }

    @Override
    public int hashCode() {
        return Objects.hash(TableRefs.identity(table), wanted, filters, limit);
    }
}
