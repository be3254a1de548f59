package versioned.spark.scan;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.stream.LongStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.types.StructField;
import versioned.spark.internals.RowGroups;
import versioned.spark.internals.SparkFiles;

/**
 * The files of a part of a merge, of each segment: the row groups of the part, and all row groups that may hold a key of these.
 *
 * <p>Every part divides the row groups in the same way, by the least value of their first key column, so that the driver need not
 * read footers. Around a cut, the keys of a row group of each segment are read in both parts, so there are at most as many parts
 * as such rows of row groups: others are empty.
 */
final class MergeFiles {
    private final List<List<RowGroup>> own = new ArrayList<>();
    private final List<List<RowGroup>> near = new ArrayList<>();
    private final Object high; // the greatest value of the first key column in the part; null if unknown

    /** A row group, its segment and the bounds of its first key column, null where unknown. */
    private record RowGroup(int member, long start, long length, long firstRow, long rows, Object min, Object max) {
        long end() {
            return start + length;
        }
    }

    /** @param first the first key column, which has an ID */
    static <V> MergeFiles of(MergePart part, StructField first, KeyOrder<V> order, Configuration hadoop) throws IOException {
        List<RowGroup> all = new ArrayList<>();
        for (int i = 0; i < part.members().size(); i++) {
            for (RowGroups.RowGroup group : RowGroups.of(part.members().get(i).file().toPath(), hadoop, first)) {
                all.add(new RowGroup(i, group.start(), group.length(), group.firstRow(), group.rows(),
                    of(order, group.min()), of(order, group.max())));
            }
        }
        return new MergeFiles(part, all, (one, other) -> order.compare(cast(one), cast(other)));
    }

    private static Object of(KeyOrder<?> order, Object bound) {
        return bound == null ? null : order.of(bound);
    }

    @SuppressWarnings("unchecked")
    private static <V> V cast(Object bound) {
        return (V) bound;
    }

    private MergeFiles(MergePart part, List<RowGroup> all, Comparator<Object> order) {
        for (int i = 0; i < part.members().size(); i++) {
            own.add(new ArrayList<>());
            near.add(new ArrayList<>());
        }
        List<RowGroup> mine = mine(part.index(), parts(part, all), all, order);
        mine.forEach(group -> own.get(group.member()).add(group));
        own.forEach(groups -> groups.sort(Comparator.comparingLong(RowGroup::start)));
        if (mine.isEmpty()) {
            high = null;
            return;
        }
        Object low = Collections.min(mine, Comparator.comparing(RowGroup::min, Comparator.nullsFirst(order))).min();
        high = Collections.max(mine, Comparator.comparing(RowGroup::max, Comparator.nullsLast(order))).max();
        for (RowGroup group : all) {
            boolean below = low != null && group.max() != null && order.compare(group.max(), low) < 0;
            boolean above = high != null && group.min() != null && order.compare(group.min(), high) > 0;
            if (!below && !above) {
                near.get(group.member()).add(group);
            }
        }
    }

    /** The number of parts that are not empty. */
    private static int parts(MergePart part, List<RowGroup> all) {
        long[] largest = new long[part.members().size()];
        all.forEach(group -> largest[group.member()] = Math.max(largest[group.member()], group.length()));
        double total = all.stream().mapToDouble(RowGroup::length).sum();
        return (int) Math.max(part.least(), Math.min(part.parts(), total / LongStream.of(largest).sum()));
    }

    private static List<RowGroup> mine(int index, int parts, List<RowGroup> all, Comparator<Object> order) {
        List<RowGroup> sorted = new ArrayList<>(all);
        sorted.sort(Comparator.comparing(RowGroup::min, Comparator.nullsFirst(order)));
        double total = sorted.stream().mapToDouble(RowGroup::length).sum();
        List<RowGroup> mine = new ArrayList<>();
        double before = 0;
        for (RowGroup group : sorted) {
            if ((int) ((before + group.length() / 2.0) * parts / total) == index) {
                mine.add(group);
            }
            before += group.length();
        }
        return mine;
    }

    /** Whether the part has no rows. */
    boolean isEmpty() {
        return own.stream().allMatch(List::isEmpty);
    }

    /** An upper bound of the prefixes of the first key column in the part. */
    <V> long limit(KeyOrder<V> order) {
        return high == null ? Long.MAX_VALUE : order.prefix(cast(high));
    }

    /** The row groups of the part in a segment. */
    PartitionedFile[] own(int member, PartitionedFile file) {
        return files(own.get(member), file, file.partitionValues());
    }

    /** The row groups in which the keys of the part are. */
    PartitionedFile[] near(int member, PartitionedFile file, InternalRow constants) {
        return files(near.get(member), file, constants);
    }

    /** The positions of the rows of the part in a segment. */
    RowSpans ownSpans(int member) {
        return spans(own.get(member));
    }

    /** The positions of the rows of the row groups in which the keys of the part are. */
    RowSpans nearSpans(int member) {
        return spans(near.get(member));
    }

    private static RowSpans spans(List<RowGroup> groups) {
        return new RowSpans(groups.stream().mapToLong(RowGroup::firstRow).toArray(),
            groups.stream().mapToLong(RowGroup::rows).toArray());
    }

    /** Spark reads the row groups whose middles are in a range. */
    private static PartitionedFile[] files(List<RowGroup> groups, PartitionedFile file, InternalRow constants) {
        List<PartitionedFile> files = new ArrayList<>();
        for (int first = 0, end; first < groups.size(); first = end) {
            end = first + 1;
            while (end < groups.size() && groups.get(end).start() <= groups.get(end - 1).end()) {
                end++;
            }
            long start = groups.get(first).start();
            files.add(SparkFiles.part(constants, file, start, groups.get(end - 1).end() - start));
        }
        return files.toArray(PartitionedFile[]::new);
    }
}
