package versioned.spark.scan;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import versioned.spark.catalog.TableRef;
import versioned.spark.internals.SparkFiles;

/** Segments into pieces of work of about one size, as Spark does it for files: large ones first, small ones together. */
final class Packing {
    private static final int MOST_PIECES = 100_000;

    private Packing() {}

    /** @param whole whether segments are read from end to end, and not split */
    static List<InputPartition> pack(TableRef table, ScanPlan plan, List<ScanPlan.Segment> segments, boolean whole) {
        long open = SparkFiles.openCost();
        double total = segments.stream().mapToDouble(s -> s.bytes() + open).sum();
        // What the log says of sizes may be anything: there are never more pieces than this, beside one a segment.
        long target = Math.max(SparkFiles.targetBytes((long) total), (long) (total / MOST_PIECES));
        List<NativePartition.Piece> pieces = new ArrayList<>();
        for (ScanPlan.Segment segment : segments) {
            split(table.files().url(), plan, segment, whole ? Long.MAX_VALUE : target, pieces);
        }
        pieces.sort(Comparator.comparingLong((NativePartition.Piece piece) -> piece.file().length()).reversed());
        return packed(pieces, target, open);
    }

    private static void split(String folder, ScanPlan plan, ScanPlan.Segment segment, long target,
            List<NativePartition.Piece> pieces) {
        Constants constants = new Constants((ScanPlan.NativeGroup) plan.groups().get(segment.group()), segment);
        boolean whole = target == Long.MAX_VALUE;
        for (long start = 0, length; start < segment.bytes(); start += length) {
            length = Math.min(target, segment.bytes() - start);
            PartitionedFile file =
                SparkFiles.part(constants.row(), folder + "/" + segment.path(), start, length, segment.bytes());
            pieces.add(new NativePartition.Piece(segment.group(), file, whole ? segment.rows() : -1));
        }
    }

    private static List<InputPartition> packed(List<NativePartition.Piece> pieces, long target, long open) {
        List<InputPartition> partitions = new ArrayList<>();
        List<NativePartition.Piece> held = new ArrayList<>();
        long size = 0;
        for (NativePartition.Piece piece : pieces) {
            if (!held.isEmpty() && size + piece.file().length() > target) {
                partitions.add(NativePartition.of(held));
                held = new ArrayList<>();
                size = 0;
            }
            held.add(piece);
            size += piece.file().length() + open;
        }
        if (!held.isEmpty()) {
            partitions.add(NativePartition.of(held));
        }
        return partitions;
    }
}
