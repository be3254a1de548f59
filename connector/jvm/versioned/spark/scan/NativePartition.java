package versioned.spark.scan;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

/** What one task reads natively: splits of segments, grouped by the way of reading. */
record NativePartition(List<Run> runs) implements InputPartition {

    /**
     * A split of a segment.
     *
     * @param rows number of rows; -1 if unknown
     */
    record Split(int group, PartitionedFile file, long rows) {}

    /**
     * Splits that are read in the same way.
     *
     * @param rows number of rows that must come of them; -1 if unknown
     */
    record Run(int group, PartitionedFile[] files, long rows) implements Serializable {}

    static NativePartition of(List<Split> splits) {
        List<Split> sorted = new ArrayList<>(splits);
        sorted.sort(Comparator.comparingInt(Split::group));
        List<Run> runs = new ArrayList<>();
        for (int start = 0, end; start < sorted.size(); start = end) {
            int group = sorted.get(start).group();
            end = start;
            while (end < sorted.size() && sorted.get(end).group() == group) {
                end++;
            }
            List<Split> alike = sorted.subList(start, end);
            boolean known = alike.stream().allMatch(split -> split.rows() >= 0);
            runs.add(new Run(group, alike.stream().map(Split::file).toArray(PartitionedFile[]::new),
                known ? alike.stream().mapToLong(Split::rows).sum() : -1));
        }
        return new NativePartition(new ArrayList<>(runs));
    }
}
