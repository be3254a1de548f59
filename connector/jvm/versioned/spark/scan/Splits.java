package versioned.spark.scan;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import versioned.spark.internals.SparkFiles;
import versioned.spark.protocol.NativeGroup;
import versioned.spark.protocol.TableRef;

/**
 * Segments as splits of about one size, packed into partitions as Spark packs files: large ones first, small ones together.
 */
final class Splits {
    private static final int MAX_SPLITS = 100_000;

    private Splits() {}

    /**
     * The partitions of the segments that Spark reads itself.
     *
     * @param whole whether a segment must stay one split
     */
    static List<InputPartition> pack(TableRef table, ScanPlan plan, List<ScanPlan.Segment> all, boolean whole) {
        List<ScanPlan.Segment> segments = all.stream().filter(plan::isNative).toList();
        if (plan.grouping() != null) {
            return grouped(table, plan, segments, whole);
        }
        return packed(table, plan, segments, target(segments), whole, null);
    }

    /**
     * Partitions whose rows have one partition value. Their target size is that of all segments of the plan: runtime filters
     * may leave a value no more partitions than it had before.
     */
    private static List<InputPartition> grouped(TableRef table, ScanPlan plan, List<ScanPlan.Segment> segments, boolean whole) {
        long target = target(plan.segments());
        Map<InternalRow, List<ScanPlan.Segment>> byKey = new LinkedHashMap<>();
        for (ScanPlan.Segment segment : segments) {
            byKey.computeIfAbsent(segment.key(), key -> new ArrayList<>()).add(segment);
        }
        List<InputPartition> partitions = new ArrayList<>();
        byKey.forEach((key, alike) -> partitions.addAll(packed(table, plan, alike, target, whole, key)));
        return partitions;
    }

    private static long target(List<ScanPlan.Segment> segments) {
        long open = SparkFiles.openCost();
        double total = segments.stream().mapToDouble(s -> s.bytes() + open).sum();
        // Sizes in the log are untrusted: beside one for each segment, there are never more splits than this.
        return Math.max(SparkFiles.targetBytes((long) total), (long) (total / MAX_SPLITS));
    }

    private static List<InputPartition> packed(TableRef table, ScanPlan plan, List<ScanPlan.Segment> segments, long target,
            boolean whole, InternalRow key) {
        List<NativePartition.Split> splits = new ArrayList<>();
        for (ScanPlan.Segment segment : segments) {
            split(table.hadoop().url(), plan, segment, whole ? Long.MAX_VALUE : target, splits);
        }
        splits.sort(Comparator.comparingLong((NativePartition.Split split) -> split.file().length()).reversed());
        return packed(splits, target, key);
    }

    private static void split(String folder, ScanPlan plan, ScanPlan.Segment segment, long target,
            List<NativePartition.Split> splits) {
        InternalRow constants = segment.constants((NativeGroup) plan.groups().get(segment.group()));
        SegmentMark mark = segment.mark() == null ? null
            : new SegmentMark(segment.file(folder), segment.rows(), segment.mark(), folder);
        boolean whole = target == Long.MAX_VALUE;
        for (long start = 0, length; start < segment.bytes(); start += length) {
            length = Math.min(target, segment.bytes() - start);
            PartitionedFile file =
                SparkFiles.part(constants, segment.file(folder), start, length, segment.bytes());
            splits.add(new NativePartition.Split(segment.group(), file, whole ? segment.shownRows() : -1, mark));
        }
    }

    private static List<InputPartition> packed(List<NativePartition.Split> splits, long target, InternalRow key) {
        List<InputPartition> partitions = new ArrayList<>();
        int start = 0;
        for (int end : nextFit(splits.stream().mapToLong(split -> split.file().length()).toArray(), target, SparkFiles.openCost())) {
            partitions.add(NativePartition.of(splits.subList(start, end), key));
            start = end;
        }
        return partitions;
    }

    /**
     * Where partitions of at most {@code target} bytes end. Python packs in the same way ({@code next_fit}); as in Spark, files
     * that are in a partition also cost what opening them costs.
     */
    public static List<Integer> nextFit(long[] sizes, long target, long open) {
        List<Integer> ends = new ArrayList<>();
        long used = 0;
        for (int i = 0; i < sizes.length; i++) {
            if (i > 0 && used + sizes[i] > target) {
                ends.add(i);
                used = 0;
            }
            used += sizes[i] + open;
        }
        if (sizes.length > 0) {
            ends.add(sizes.length);
        }
        return ends;
    }
}
