package versioned.spark.scan;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import versioned.spark.internals.SparkFiles;
import versioned.spark.internals.SparkPython;
import versioned.spark.protocol.*;
import versioned.spark.python.Python;
import versioned.spark.python.Values;

/**
 * Which segments a scan reads, and how.
 *
 * @param groups the ways of reading
 * @param segments the segments in the table's order
 * @param live number of segments of the snapshot, before pruning
 * @param layout the columns by which segments are clustered
 * @param mergedGroups number of groups of segments that are merged
 * @param matchingRows an estimate of the number of rows that satisfy the filters
 * @param grouping the partition values of the segments; null if they are not grouped by them
 * @param ordering the order of rows; null if it is not known
 * @param merges overlapping segments that are read natively
 * @param keyGroups the ways of reading their keys
 * @param jointGroups the ways of reading their keys together with the wanted columns
 * @param keyPlaces the places of the keys and of the sequence among the columns of these
 */
record ScanPlan(List<ReadGroup> groups, List<Segment> segments, long live, List<String> layout,
        long mergedGroups, long matchingRows, Grouping grouping, Ordering ordering, List<SegmentMerge> merges,
        List<NativeGroup> keyGroups, List<NativeGroup> jointGroups, int[] keyPlaces) {

    /**
     * A segment.
     *
     * @param rowSequence of all of its rows; null if they have several
     * @param url of a file below an external root; null for one in the table's folder
     * @param texts value texts of columns that the file of somebody else does not hold
     * @param mark which rows are deleted; null if none is
     * @param ids the IDs of its rows; null if they have none
     * @param key partition values; null if segments are not grouped by them
     * @param rank place in the order of rows; 0 if it is not known
     */
    record Segment(int group, String path, int schemaVersion, long rows, long bytes, long sequence, long commitTime,
            Long rowSequence, String url, List<String> texts, Mark mark, RowIds ids, InternalRow key, int rank) {

        /**
         * The IDs of the rows of a segment.
         *
         * @param first that of the row at position 0
         * @param updated the version that wrote the rows
         * @param stored the version up to which those in the file count
         */
        record RowIds(long first, long updated, long stored) {}

        /** The number of rows that are not deleted. */
        long shownRows() {
            return rows - SegmentMark.rowsOf(mark);
        }

        /** Where the file is, for a table in a folder. */
        String file(String folder) {
            return url == null ? folder + "/" + path : url;
        }

        /** The values of the columns that are constant in the segment. */
        InternalRow constants(NativeGroup way) {
            return new GenericInternalRow(way.constants().stream().map(this::constant).toArray());
        }

        private Object constant(ConstantColumn column) {
            if (column.place() != null) {
                return Values.parse(texts.get(column.place()), column.type());
            }
            return column.member() == null ? Values.parse(column.value(), column.type()) : switch (column.member()) {
                case "path" -> UTF8String.fromString(path);
                case "schema_version" -> schemaVersion;
                case "sequence" -> sequence;
                case "commit_time" -> commitTime;
                case "row_sequence" -> rowSequence;
                case "first_row_id" -> ids.first();
                case "row_updated" -> ids.updated();
                case "row_ids_stored" -> ids.stored();
                default -> throw new IllegalStateException("a segment has no member " + column.member());
            };
        }
    }

    static ScanPlan of(versioned.spark.protocol.ScanPlan plan) {
        Segments columns = plan.segments();
        Grouping grouping = isGrouped(plan) ? plan.grouping() : null;
        List<InternalRow> keys = grouping == null ? List.of() : keys(grouping);
        List<Segment> segments = new ArrayList<>(columns.group().length);
        for (int i = 0; i < columns.group().length; i++) {
            segments.add(new Segment(columns.group()[i], columns.path().get(i), columns.schemaVersion()[i],
                columns.rows()[i], columns.bytes()[i], columns.sequence()[i], columns.commitTime()[i],
                columns.rowSequence().get(i), columns.url().isEmpty() ? null : columns.url().get(i),
                columns.constants().isEmpty() ? List.of() : columns.constants().get(i),
                columns.marks().isEmpty() ? null : columns.marks().get(i), rowIds(columns, i),
                grouping == null ? null : keys.get(grouping.place()[i]),
                plan.ordering() == null ? 0 : plan.ordering().rank()[i]));
        }
        return new ScanPlan(plan.groups(), segments, plan.live(), plan.layout(), plan.mergedGroups(), plan.matchingRows(),
            grouping, plan.ordering(), plan.merges(), plan.keyGroups(), plan.jointGroups(), plan.keyPlaces());
    }

    private static Segment.RowIds rowIds(Segments columns, int i) {
        if (columns.firstRowId().length == 0) {
            return null;
        }
        Long stored = columns.rowIdsStored().get(i);
        return new Segment.RowIds(columns.firstRowId()[i], columns.rowUpdated()[i], stored == null ? -1 : stored);
    }

    private static List<InternalRow> keys(Grouping grouping) {
        List<InternalRow> keys = new ArrayList<>();
        for (List<String> texts : grouping.values()) {
            Object[] values = new Object[texts.size()];
            for (int i = 0; i < values.length; i++) {
                values[i] = Values.parse(texts.get(i), grouping.types().get(i));
            }
            keys.add(new GenericInternalRow(values));
        }
        return keys;
    }

    /** Whether tasks read one partition each: Spark reads all segments, and partitions are not so small that it takes longer. */
    private static boolean isGrouped(versioned.spark.protocol.ScanPlan plan) {
        return plan.grouping() != null && plan.groups().stream().allMatch(NativeGroup.class::isInstance)
            && SparkFiles.isCheap(plan.grouping().values().size(), LongStream.of(plan.segments().bytes()).sum());
    }

    /** The names of the columns by which the rows of any native partition are sorted, if it reads segments by their ranks. */
    List<String> sortedBy() {
        return ordering == null ? List.of()
            : ordering.columns().subList(0, grouping == null ? ordering.whole() : ordering.grouped());
    }

    /** The partitions that Python reads. */
    List<InputPartition> pythonPartitions(StructType wanted) {
        return pythonReads(wanted).flatMap(read -> Stream.of(read.planInputPartitions())).toList();
    }

    /** Reads any of these partitions, also those of other plans of the table; null if there are none. */
    PartitionReaderFactory pythonFactory(StructType wanted) {
        return pythonReads(wanted).findFirst().map(read -> new TranslatingReads(read.createReaderFactory())).orElse(null);
    }

    private Stream<Batch> pythonReads(StructType wanted) {
        return groups.stream().filter(PythonGroup.class::isInstance)
            .map(group -> SparkPython.read(wanted, ((PythonGroup) group).tasks()));
    }

    /** The paths of the segments that Python reads. */
    List<String> inPython() {
        return segments.stream().filter(segment -> !isNative(segment)).map(Segment::path).toList();
    }

    boolean isAnyNative() {
        return groups.stream().anyMatch(NativeGroup.class::isInstance);
    }

    boolean isNative(Segment segment) {
        return groups.get(segment.group()) instanceof NativeGroup;
    }

    long rows() {
        return segments.stream().mapToLong(Segment::shownRows).sum();
    }

    /** The number of rows in the files, also those that are deleted. */
    long storedRows() {
        return segments.stream().mapToLong(Segment::rows).sum();
    }

    long bytes() {
        return segments.stream().mapToLong(Segment::bytes).sum();
    }
}
