package versioned.spark.scan;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.HasPartitionKey;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

/**
 * What one task reads natively: splits of segments, by the order of rows or grouped by the way of reading, and then parts of merges.
 *
 * @param partitionKey the partition values of all rows; null if tasks are not grouped by them
 */
record NativePartition(List<Run> runs, List<MergePart> merges, InternalRow partitionKey) implements HasPartitionKey {

    /** What a task is made of. */
    sealed interface Work permits Split, MergePart {
        /** The size of what it reads, and what opening further files costs. */
        long bytes();
    }

    /**
     * A split of a segment.
     *
     * @param rows number of rows; -1 if unknown
     * @param mark null if no row of the segment is deleted
     * @param rank place of the segment in the order of rows
     */
    record Split(int group, PartitionedFile file, long rows, RowMark mark, int rank) implements Work {
        @Override
        public long bytes() {
            return file.length();
        }
    }

    /**
     * Splits that are read in the same way.
     *
     * @param rows number of rows that must come of them; -1 if unknown
     * @param mark of the segment, if it is one whose rows are marked; else null
     * @param spans the positions of the rows in a segment, if it is one; null if they are not known
     */
    record Run(int group, PartitionedFile[] files, long rows, RowMark mark, RowSpans spans) implements Serializable {}

    private static final Comparator<Split> BY_GROUP = Comparator.comparingInt(Split::group);
    private static final Comparator<Split> BY_RANK =
        Comparator.comparingInt(Split::rank).thenComparingLong(split -> split.file().start());

    /** @param isSorted whether the rows must be in their order */
    static NativePartition of(List<Work> works, InternalRow key, boolean isSorted) {
        List<Split> sorted = new ArrayList<>();
        List<MergePart> merges = new ArrayList<>();
        for (Work work : works) {
            if (work instanceof Split split) {
                sorted.add(split);
            } else {
                merges.add((MergePart) work);
            }
        }
        sorted.sort(isSorted ? BY_RANK : BY_GROUP);
        List<Run> runs = new ArrayList<>();
        for (int start = 0, end; start < sorted.size(); start = end) {
            Split first = sorted.get(start);
            end = start + 1;
            while (end < sorted.size() && areAlike(first, sorted.get(end))) {
                end++;
            }
            List<Split> alike = sorted.subList(start, end);
            boolean known = alike.stream().allMatch(split -> split.rows() >= 0);
            runs.add(new Run(first.group(), alike.stream().map(Split::file).toArray(PartitionedFile[]::new),
                known ? alike.stream().mapToLong(Split::rows).sum() : -1, first.mark(),
                first.file().start() == 0 ? RowSpans.fromBeginning() : null));
        }
        return new NativePartition(runs, merges, key);
    }

    /** Whether splits are read in one run. A reader does not say of which file a batch is, so a marked segment is alone. */
    private static boolean areAlike(Split first, Split second) {
        return first.group() == second.group() && first.mark() == null && second.mark() == null;
    }
}
