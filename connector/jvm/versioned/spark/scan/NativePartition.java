package versioned.spark.scan;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

/**
 * What one task reads natively.
 *
 * @param runs parts of segments, those together that are read alike
 */
record NativePartition(List<Run> runs) implements InputPartition {

    /** A part of a segment. */
    record Piece(int group, PartitionedFile file) {}

    /** Parts of segments that are read alike. */
    record Run(int group, PartitionedFile[] files) implements Serializable {}

    static NativePartition of(List<Piece> pieces) {
        List<Piece> sorted = new ArrayList<>(pieces);
        sorted.sort(Comparator.comparingInt(Piece::group));
        List<Run> runs = new ArrayList<>();
        for (int start = 0, end; start < sorted.size(); start = end) {
            int group = sorted.get(start).group();
            end = start;
            while (end < sorted.size() && sorted.get(end).group() == group) {
                end++;
            }
            runs.add(new Run(group,
                sorted.subList(start, end).stream().map(Piece::file).toArray(PartitionedFile[]::new)));
        }
        return new NativePartition(new ArrayList<>(runs));
    }
}
