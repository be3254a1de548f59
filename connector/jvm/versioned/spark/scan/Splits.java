package versioned.spark.scan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import versioned.spark.internals.SparkFiles;
import versioned.spark.protocol.NativeGroup;
import versioned.spark.protocol.SegmentMerge;
import versioned.spark.protocol.TableRef;

/** Segments as splits of at most one size, dealt to partitions of about one size: large ones first. */
final class Splits {
    private static final int MAX_SPLITS = 100_000;
    private static final long ROWS = 128 * 1024; // of a row group, as keyed segments are written
    private static final long BATCH = 4096; // rows of a batch of Spark's reader, by default
    private static final long JOINT_BYTES = 64 << 20; // of the batches of all segments of a merge

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
        Set<String> merged = plan.merges().stream().flatMapToInt(merge -> Arrays.stream(merge.segments()))
            .mapToObj(index -> plan.segments().get(index).path()).collect(Collectors.toSet());
        List<NativePartition.Work> splits = new ArrayList<>();
        for (ScanPlan.Segment segment : segments) {
            if (!merged.contains(segment.path())) {
                split(table.hadoop().url(), plan, segment, whole ? Long.MAX_VALUE : target, splits);
            }
        }
        if (!merged.isEmpty()) {
            Set<String> wanted = segments.stream().map(ScanPlan.Segment::path).collect(Collectors.toSet());
            plan.merges().forEach(merge -> split(table.hadoop().url(), plan, merge, wanted, target, splits));
        }
        splits.sort(Comparator.comparingInt(split -> Long.numberOfLeadingZeros(split.bytes())));
        return packed(splits, target, key, !plan.sortedBy().isEmpty());
    }

    /** The memory for a batch of a segment, with its keys and all wanted columns; never less than its file takes. */
    private static double batchBytes(ScanPlan plan, int jointGroup, ScanPlan.Segment segment) {
        double stored = (double) segment.bytes() / Math.max(1, segment.rows());
        return Math.min(BATCH, segment.rows()) * Math.max(stored, plan.jointGroups().get(jointGroup).readSchema().defaultSize());
    }

    /**
     * The parts of a merge, by size as for any files. To use all cores, a smaller merge is split too, if its segments have several
     * row groups: else each part would read all keys. Segments that runtime filters leave out hold no key that is wanted.
     */
    private static void split(String folder, ScanPlan plan, SegmentMerge merge, Set<String> wanted, long target,
            List<NativePartition.Work> splits) {
        List<MergePart.Member> members = new ArrayList<>();
        long bytes = 0;
        double rows = 0;
        long rowsAtCut = 0;
        boolean isJoint = merge.jointGroups().length > 0;
        double memory = 0;
        for (int i = 0; i < merge.segments().length; i++) {
            ScanPlan.Segment segment = plan.segments().get(merge.segments()[i]);
            if (wanted.contains(segment.path())) {
                members.add(member(folder, plan, merge, i, segment));
                bytes += segment.bytes();
                rows += segment.rows();
                rowsAtCut += Math.min(segment.rows(), ROWS);
                memory += isJoint ? batchBytes(plan, merge.jointGroups()[i], segment) : 0;
            }
        }
        if (members.isEmpty()) {
            return;
        }
        isJoint &= members.size() > 1 && memory <= JOINT_BYTES;
        double open = (double) SparkFiles.openCost() * members.size();
        double useful = Math.min((bytes + open) / target, Math.floor(rows / Math.max(1, rowsAtCut)));
        int least = (int) Math.max(1, Math.round((double) bytes / target));
        int parts = (int) Math.max(least, Math.round(useful));
        long size = (long) ((bytes + open) / parts) - SparkFiles.openCost(); // which packing adds
        for (int part = 0; part < parts; part++) {
            splits.add(new MergePart(members, part, parts, least, parts == 1 && isJoint, Math.max(0, size)));
        }
    }

    private static MergePart.Member member(String folder, ScanPlan plan, SegmentMerge merge, int index,
            ScanPlan.Segment segment) {
        int keys = merge.keyGroups()[index];
        InternalRow constants = segment.constants((NativeGroup) plan.groups().get(segment.group()));
        PartitionedFile file = SparkFiles.part(constants, segment.file(folder), 0, segment.bytes(), segment.bytes());
        return new MergePart.Member(segment.group(), file, keys, segment.constants(plan.keyGroups().get(keys)),
            joint(plan, merge, index, segment, file), segment.rows(), merge.distinct()[index], merge.lower().get(index),
            mark(folder, segment));
    }

    private static MergePart.Joint joint(ScanPlan plan, SegmentMerge merge, int index, ScanPlan.Segment segment,
            PartitionedFile file) {
        if (merge.jointGroups().length == 0) {
            return null;
        }
        int group = merge.jointGroups()[index];
        InternalRow constants = segment.constants(plan.jointGroups().get(group));
        return new MergePart.Joint(group, SparkFiles.part(constants, file, 0, file.fileSize()));
    }

    private static SegmentMark mark(String folder, ScanPlan.Segment segment) {
        return segment.mark() == null ? null
            : new SegmentMark(segment.file(folder), segment.rows(), segment.mark(), folder);
    }

    private static void split(String folder, ScanPlan plan, ScanPlan.Segment segment, long target,
            List<NativePartition.Work> splits) {
        InternalRow constants = segment.constants((NativeGroup) plan.groups().get(segment.group()));
        SegmentMark mark = mark(folder, segment);
        boolean whole = target == Long.MAX_VALUE;
        for (long start = 0, length; start < segment.bytes(); start += length) {
            length = Math.min(target, segment.bytes() - start);
            PartitionedFile file =
                SparkFiles.part(constants, segment.file(folder), start, length, segment.bytes());
            splits.add(new NativePartition.Split(segment.group(), file, whole ? segment.shownRows() : -1, mark,
                segment.rank()));
        }
    }

    private static List<InputPartition> packed(List<NativePartition.Work> splits, long target, InternalRow key,
            boolean isSorted) {
        List<List<NativePartition.Work>> shares = new ArrayList<>();
        int[] dealt = deal(splits.stream().mapToLong(NativePartition.Work::bytes).toArray(), target, SparkFiles.openCost());
        for (int i = 0; i < dealt.length; i++) {
            if (dealt[i] == shares.size()) {
                shares.add(new ArrayList<>());
            }
            shares.get(dealt[i]).add(splits.get(i));
        }
        List<InputPartition> partitions = new ArrayList<>();
        shares.forEach(works -> partitions.add(NativePartition.of(works, key, isSorted)));
        return partitions;
    }

    /**
     * Deals splits to as few partitions as {@code target} allows: each to the one with least work, so that all are of about one
     * size, as many as there are cores if Spark sets the target by their number. Neighbours, which often hold what one filter
     * of a join selects, such as the sales of a year, are read by different tasks.
     *
     * @param open what opening a file costs, in bytes
     * @return the number of each split's partition, from 0 in the order in which they get their first split
     */
    public static int[] deal(long[] sizes, long target, long open) {
        record Share(int number, double bytes) {}
        double total = LongStream.of(sizes).mapToDouble(size -> (double) size + open).sum();
        PriorityQueue<Share> shares =
            new PriorityQueue<>(Comparator.comparingDouble(Share::bytes).thenComparingInt(Share::number));
        int count = (int) Math.min(sizes.length, (total - 1) / (target + 1.0) + 1); // the target was rounded down
        for (int i = 0; i < count; i++) {
            shares.add(new Share(i, 0));
        }
        int[] dealt = new int[sizes.length];
        for (int i = 0; i < sizes.length; i++) {
            Share least = shares.remove();
            dealt[i] = least.number();
            shares.add(new Share(least.number(), least.bytes() + sizes[i] + (double) open));
        }
        return dealt;
    }
}
