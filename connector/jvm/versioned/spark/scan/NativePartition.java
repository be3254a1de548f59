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

    /**
     * A part of a segment.
     *
     * @param rows how many there are in it; -1 where that is not known of a part
     */
    record Piece(int group, PartitionedFile file, long rows) {}

    /**
     * Parts of segments that are read alike.
     *
     * @param rows how many must come of it; -1 where filters decide that
     */
    record Run(int group, PartitionedFile[] files, long rows) implements Serializable {}

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
            List<Piece> alike = sorted.subList(start, end);
            boolean known = alike.stream().allMatch(piece -> piece.rows() >= 0);
            runs.add(new Run(group, alike.stream().map(Piece::file).toArray(PartitionedFile[]::new),
                known ? alike.stream().mapToLong(Piece::rows).sum() : -1));
        }
        return new NativePartition(new ArrayList<>(runs));
    }
}
