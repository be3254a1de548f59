package versioned.spark.scan;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.HasPartitionKey;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

/**
 * What one task reads natively: splits of segments, grouped by the way of reading.
 *
 * @param partitionKey the partition values of all rows; null if tasks are not grouped by them
 */
record NativePartition(List<Run> runs, InternalRow partitionKey) implements HasPartitionKey {

    /**
     * A split of a segment.
     *
     * @param rows number of rows; -1 if unknown
     * @param mark null if no row of the segment is deleted
     */
    record Split(int group, PartitionedFile file, long rows, SegmentMark mark) {}

    /**
     * Splits that are read in the same way.
     *
     * @param rows number of rows that must come of them; -1 if unknown
     * @param mark of the segment, if it is one whose rows are marked; else null
     */
    record Run(int group, PartitionedFile[] files, long rows, SegmentMark mark) implements Serializable {}

    static NativePartition of(List<Split> splits, InternalRow key) {
        List<Split> sorted = new ArrayList<>(splits);
        sorted.sort(Comparator.comparingInt(Split::group));
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
                known ? alike.stream().mapToLong(Split::rows).sum() : -1, first.mark()));
        }
        return new NativePartition(new ArrayList<>(runs), key);
    }

    /** Whether splits are read in one run. A reader does not say of which file a batch is, so a marked segment is alone. */
    private static boolean areAlike(Split first, Split second) {
        return first.group() == second.group() && first.mark() == null && second.mark() == null;
    }
}
