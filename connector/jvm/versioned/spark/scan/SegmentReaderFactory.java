package versioned.spark.scan;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.SerializableConfiguration;
import versioned.spark.internals.SparkFiles;
import versioned.spark.internals.SparkParquetReading;
import versioned.spark.protocol.*;
import versioned.spark.python.Terms;

/** Makes the readers of all partitions of a scan, native or in Python; all yield columns, or all yield rows. */
final class SegmentReaderFactory implements PartitionReaderFactory {
    /**
     * A native way of reading: Spark's factory, the index of each wanted column in its rows, and how it is narrowed.
     *
     * @param source makes factories like this one
     * @param position the index of the position of a row, if it is read
     * @param columns number of columns that the factory's readers yield
     * @param foreign checks files of others; null for segments of our own
     */
    record Way(SparkParquetReading.Source source, PartitionReaderFactory factory, int[] order, Narrowing[] narrowed,
            int position, int columns, ForeignFiles foreign, Broadcast<SerializableConfiguration> hadoop)
            implements Serializable {

        /** The same way, to read batches on an executor, with a factory whose reader stays open beside those of others. */
        Way another() {
            return new Way(source, source.ofBatches(), order, narrowed, position, columns, foreign, hadoop);
        }

        PartitionReader<InternalRow> rows(NativePartition.Run run, StructType wanted) {
            PartitionReader<InternalRow> all = factory.createReader(files(run));
            PartitionReader<InternalRow> rows = run.mark() == null ? all : Unmarked.rows(all, marked(run), position);
            return Reordered.rows(rows, columns, order, narrowed, wanted);
        }

        PartitionReader<ColumnarBatch> batches(NativePartition.Run run) {
            PartitionReader<ColumnarBatch> all = factory.createColumnarReader(files(run));
            PartitionReader<ColumnarBatch> batches = run.mark() == null ? all : Unmarked.batches(all, marked(run), position);
            return Reordered.batches(batches, columns, order, narrowed);
        }

        private MarkedRows marked(NativePartition.Run run) {
            return run.mark().load(hadoop.value().value());
        }

        /** The files of a run; those of others must be as large as recorded. */
        private FilePartition files(NativePartition.Run run) {
            if (foreign != null) {
                foreign.check(run.files());
            }
            return new FilePartition(0, run.files());
        }
    }

    private final String table;
    private final StructType wanted;
    private final Way[] ways;
    private final MergedSegments merged; // null if no segments are merged natively
    private final PartitionReaderFactory python;
    private final boolean columnar;

    private SegmentReaderFactory(String table, StructType wanted, Way[] ways, MergedSegments merged,
            PartitionReaderFactory python) {
        this.table = table;
        this.wanted = wanted;
        this.ways = ways;
        this.merged = merged;
        this.python = python;
        this.columnar = isColumnar(ways);
    }

    /** Asks for a way to read Parquet only if a segment is read natively. */
    static SegmentReaderFactory of(TableRef table, ScanPlan plan, StructType wanted, List<Predicate> filters,
            Supplier<SparkParquetReading> parquet) {
        List<Way> ways = new ArrayList<>();
        SparkParquetReading reading = plan.isAnyNative() ? parquet.get() : null;
        for (ReadGroup group : plan.groups()) {
            ways.add(group instanceof NativeGroup found ? way(table, reading, found, filters) : null);
        }
        return new SegmentReaderFactory(table.name(), wanted, ways.toArray(Way[]::new), merged(table, plan, filters, reading),
            plan.pythonFactory(wanted));
    }

    private static MergedSegments merged(TableRef table, ScanPlan plan, List<Predicate> filters, SparkParquetReading reading) {
        if (plan.merges().isEmpty()) {
            return null;
        }
        Way[] keys = plan.keyGroups().stream().map(group -> way(table, reading, group, filters)).toArray(Way[]::new);
        return MergedSegments.of(plan.keyGroups(), keys, reading.hadoop());
    }

    private static Way way(TableRef table, SparkParquetReading reading, NativeGroup group, List<Predicate> filters) {
        StructType constants = new StructType();
        for (ConstantColumn column : group.constants()) {
            constants = constants.add(column.name(), column.type());
        }
        Map<String, List<String>> names = new HashMap<>();
        for (PhysicalName name : group.names()) {
            names.put(Terms.key(name.column()), name.physical());
        }
        List<Predicate> inFile = filters.isEmpty() ? List.of()
            : Arrays.stream(group.filters()).mapToObj(i -> Terms.renamed(filters.get(i), names)).toList();
        int position = group.readSchema().size();
        SparkParquetReading.Source source = reading.source(group.readSchema(), group.rowPosition(), constants, inFile);
        return new Way(source, source.factory(), group.order(), narrowed(table, group), position,
            position + (group.rowPosition() ? 1 : 0) + constants.size(),
            group.isForeign() ? new ForeignFiles(reading.hadoop()) : null, reading.hadoop());
    }

    private static Narrowing[] narrowed(TableRef table, NativeGroup group) {
        Narrowing[] narrowed = new Narrowing[group.order().length];
        for (NarrowedColumn column : group.narrowed()) {
            narrowed[column.index()] = Narrowing.of(table, column);
        }
        return narrowed;
    }

    private static boolean isColumnar(Way[] ways) {
        boolean any = false;
        for (Way way : ways) {
            if (way != null && !way.factory.supportColumnarReads(null)) {
                return false;
            }
            any |= way != null;
        }
        return any;
    }

    @Override
    public boolean supportColumnarReads(InputPartition partition) {
        return columnar;
    }

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
        if (partition instanceof NativePartition found) {
            return new ChainedReader<>(table, found, merged, row -> 1, run -> ways[run.group()].rows(run, wanted));
        }
        return python.createReader(partition);
    }

    @Override
    public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
        if (partition instanceof NativePartition found) {
            return new ChainedReader<>(table, found, merged, ColumnarBatch::numRows, run -> ways[run.group()].batches(run));
        }
        return SparkFiles.columns(python.createReader(partition), wanted);
    }
}
