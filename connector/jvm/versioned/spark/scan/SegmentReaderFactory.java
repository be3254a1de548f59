package versioned.spark.scan;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.SerializableConfiguration;
import versioned.spark.internals.ExtractedReads;
import versioned.spark.internals.SparkFiles;
import versioned.spark.internals.SparkParquetReading;
import versioned.spark.internals.VariantFields;
import versioned.spark.protocol.*;
import versioned.spark.python.Terms;

/** Makes the readers of all partitions of a scan, native or in Python; all yield columns, or all yield rows. */
final class SegmentReaderFactory implements PartitionReaderFactory {
    /**
     * A native way of reading: Spark's factory, the index of each wanted column in its rows, and how it is narrowed.
     *
     * @param source makes factories like this one
     * @param position the index of the position of a row, if it is read
     * @param computed for each wanted column, how a row ID is computed; null if it is read
     * @param columns number of columns that the factory's readers yield
     * @param foreign checks files of others; null for segments of our own
     * @param plain the same way without positions; null if none are read
     */
    record Way(SparkParquetReading.Source source, PartitionReaderFactory factory, int[] order, Narrowing[] narrowed,
            RowNumbers[] computed, int position, int columns, ForeignFiles foreign, Broadcast<SerializableConfiguration> hadoop, Way plain)
            implements Serializable {

        /** The same way, to read batches on an executor, with a factory whose reader stays open beside those of others. */
        Way another() {
            return new Way(source, source.ofBatches(), order, narrowed, computed, position, columns, foreign, hadoop, plain);
        }

        /** The same way, with readers that stay open beside those of this one. */
        private Way beside() {
            return new Way(source, source.another(), order, narrowed, computed, position, columns, foreign, hadoop,
                plain == null ? null : plain.beside());
        }

        private Way with(Way other) {
            return new Way(source, factory, order, narrowed, computed, position, columns, foreign, hadoop, other);
        }

        private Way withoutPositions() {
            int[] wanted = IntStream.range(0, order.length).filter(i -> order[i] != position).toArray();
            SparkParquetReading.Source read = source.withoutPositions();
            return new Way(read, read.factory(), Arrays.stream(wanted).map(i -> order[i] > position ? order[i] - 1 : order[i])
                .toArray(), Arrays.stream(wanted).mapToObj(i -> narrowed[i]).toArray(Narrowing[]::new),
                Arrays.stream(wanted).mapToObj(i -> computed[i] == null ? null : computed[i].withoutPosition(position))
                    .toArray(RowNumbers[]::new), -1, columns - 1, foreign, hadoop, null);
        }

        /** Whether positions are read only to leave out the rows that are marked. */
        private boolean isForMarks() {
            return plain != null && plain.order.length == order.length;
        }

        /** Whether the rows of files follow each other: a filter may skip pages. */
        boolean readsAll() {
            return !source.isFiltered();
        }

        PartitionReader<InternalRow> rows(NativePartition.Run run, StructType wanted) {
            if (run.mark() == null && isForMarks()) {
                return plain.rows(run, wanted);
            }
            PartitionReader<InternalRow> all = factory.createReader(files(run));
            PartitionReader<InternalRow> rows = run.mark() == null ? all : Unmarked.rows(all, marked(run), position);
            return Reordered.rows(rows, columns, order, narrowed, computed, wanted);
        }

        PartitionReader<ColumnarBatch> batches(NativePartition.Run run) {
            if (isForMarks() && (run.mark() == null || run.spans() != null && readsAll())) {
                return plain.batches(run);
            }
            return Reordered.batches(unmarked(factory.createColumnarReader(files(run)), run), columns, order, narrowed, computed);
        }

        /** Reads batches on an executor as they are stored, beside other readers. */
        PartitionReader<ColumnarBatch> stored(PartitionedFile[] files) {
            return source.ofBatches().createColumnarReader(new FilePartition(0, files));
        }

        /** Columns of stored batches by their places among the columns that this way yields. */
        PartitionReader<ColumnarBatch> ofPlaces(PartitionReader<ColumnarBatch> stored, int[] places) {
            return Reordered.batches(stored, columns, IntStream.of(places).map(place -> order[place]).toArray(),
                new Narrowing[places.length], new RowNumbers[places.length]);
        }

        /** The first columns of stored batches, as they are shown. */
        PartitionReader<ColumnarBatch> first(PartitionReader<ColumnarBatch> stored, int count) {
            return Reordered.batches(stored, columns, Arrays.copyOf(order, count), Arrays.copyOf(narrowed, count),
                Arrays.copyOf(computed, count));
        }

        private PartitionReader<ColumnarBatch> unmarked(PartitionReader<ColumnarBatch> all, NativePartition.Run run) {
            if (run.mark() == null) {
                return all;
            }
            return position < 0 ? Unmarked.batches(all, marked(run), run.spans()) : Unmarked.batches(all, marked(run), position);
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
    private transient boolean isUsed;

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
            ways.add(group instanceof NativeGroup found ? way(table, reading, found, wanted, filters) : null);
        }
        return new SegmentReaderFactory(table.name(), wanted, ways.toArray(Way[]::new), merged(table, plan, wanted, filters, reading),
            ExtractedReads.of(plan.pythonFactory(VariantFields.whole(wanted)), wanted));
    }

    private static MergedSegments merged(TableRef table, ScanPlan plan, StructType wanted, List<Predicate> filters,
            SparkParquetReading reading) {
        if (plan.merges().isEmpty()) {
            return null;
        }
        Way[] keys = plan.keyGroups().stream().map(group -> way(table, reading, group, new StructType(), filters))
            .toArray(Way[]::new);
        Way[] joint = plan.jointGroups().stream().map(group -> way(table, reading, group, wanted, List.of()))
            .toArray(Way[]::new);
        return MergedSegments.of(plan, wanted.size(), keys, joint, reading.hadoop());
    }

    /** @param wanted the columns of the rows; only the fields of variants that are asked of them count */
    private static Way way(TableRef table, SparkParquetReading reading, NativeGroup group, StructType wanted,
            List<Predicate> filters) {
        Map<String, List<String>> names = new HashMap<>();
        for (PhysicalName name : group.names()) {
            names.put(Terms.key(name.column()), name.physical());
        }
        List<Predicate> inFile = filters.isEmpty() ? List.of()
            : Arrays.stream(group.filters()).mapToObj(i -> Terms.renamed(filters.get(i), names)).toList();
        int position = group.readSchema().size();
        int first = position + (group.rowPosition() ? 1 : 0);
        StructField[] columns = group.readSchema().fields().clone();
        StructField[] constants = group.constants().stream()
            .map(column -> new StructField(column.name(), column.type(), true, Metadata.empty())).toArray(StructField[]::new);
        for (int i = 0; i < wanted.size(); i++) {
            int at = group.order()[i];
            if (at < position) {
                columns[at] = VariantFields.asked(columns[at], wanted.fields()[i]);
            } else if (at >= first) {
                constants[at - first] = VariantFields.asked(constants[at - first], wanted.fields()[i]);
            }
        }
        SparkParquetReading.Source source = reading.source(new StructType(columns), group.rowPosition(),
            new StructType(constants), inFile, group.isForeign());
        Way way = new Way(source, source.factory(), group.order(), narrowed(table, group, wanted), RowNumbers.of(group), position,
            first + constants.length, group.isForeign() ? new ForeignFiles(reading.hadoop()) : null, reading.hadoop(), null);
        return group.rowPosition() ? way.with(way.withoutPositions()) : way;
    }

    private static Narrowing[] narrowed(TableRef table, NativeGroup group, StructType wanted) {
        Narrowing[] narrowed = new Narrowing[group.order().length];
        for (NarrowedColumn column : group.narrowed()) {
            DataType asked = wanted.fields()[column.index()].dataType();
            narrowed[column.index()] = Narrowing.of(table, new NarrowedColumn(column.index(), column.name(),
                VariantFields.asked(column.stored(), asked), VariantFields.asked(column.shown(), asked)));
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

    /**
     * The ways of reading one partition. Spark may read several partitions in one task, one after another, or at the same time
     * to merge sorted ones; of a Parquet factory, only the newest reader is open.
     */
    private synchronized IntFunction<Way> ways() {
        if (!isUsed) {
            isUsed = true;
            return group -> ways[group];
        }
        Way[] others = new Way[ways.length];
        return group -> others[group] == null ? others[group] = ways[group].beside() : others[group];
    }

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
        if (partition instanceof NativePartition found) {
            IntFunction<Way> own = ways();
            return new ChainedReader<>(table, found, merged, null, row -> 1, run -> own.apply(run.group()).rows(run, wanted));
        }
        return python.createReader(partition);
    }

    @Override
    public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
        if (partition instanceof NativePartition found) {
            IntFunction<Way> own = ways();
            return new ChainedReader<>(table, found, merged, merged == null ? null : merged::batches, ColumnarBatch::numRows,
                run -> own.apply(run.group()).batches(run));
        }
        return SparkFiles.columns(python.createReader(partition), wanted);
    }
}
