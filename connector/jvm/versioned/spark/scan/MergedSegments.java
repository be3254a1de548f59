package versioned.spark.scan;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.SerializableConfiguration;
import org.roaringbitmap.RoaringBitmap;
import versioned.spark.internals.SparkFiles;
import versioned.spark.protocol.NativeGroup;
import versioned.spark.python.Values;

/**
 * Finds the rows of overlapping segments that are not shown: from their keys alone, so that each segment can then be read as
 * one whose rows are marked, or while it reads them.
 *
 * @param keys readers of the columns of the row key, and of the sequence, the type of operation and the position of each row
 * @param columns the columns of the row key
 * @param joint readers of the wanted columns together with the key columns and the sequence
 * @param wanted number of the wanted columns
 * @param keyPlaces the places of the latter among the columns of these
 */
record MergedSegments(SegmentReaderFactory.Way[] keys, StructField[] columns, SegmentReaderFactory.Way[] joint,
        int wanted, int[] keyPlaces, Broadcast<SerializableConfiguration> hadoop)
        implements Serializable {
    private static final int AFTER_KEYS = 3;

    /** Rows that newer rows hide, and those that the log marks. */
    private record Hidden(RoaringBitmap[] rows, SegmentMark mark) implements RowMark {
        @Override
        public MarkedRows load(Configuration hadoop) {
            return mark == null ? new MarkedRows(rows) : mark.load(hadoop).and(rows);
        }
    }

    /** @param plan of a scan that merges */
    static MergedSegments of(ScanPlan plan, int wanted, SegmentReaderFactory.Way[] keys, SegmentReaderFactory.Way[] joint,
            Broadcast<SerializableConfiguration> hadoop) {
        NativeGroup first = plan.keyGroups().get(0);
        StructField[] columns = Arrays.copyOf(first.readSchema().fields(), first.order().length - AFTER_KEYS);
        return new MergedSegments(keys, columns, joint, wanted, plan.keyPlaces(), hadoop);
    }

    /** What to read of the segments of a part. */
    List<NativePartition.Run> runs(MergePart part) {
        try {
            return runs(part, orders());
        } catch (IOException e) {
            throw new UncheckedIOException("can't read the row keys of " + names(part) + ": " + e.getMessage(), e);
        }
    }

    private KeyOrder<?>[] orders() {
        return Stream.of(columns).map(column -> KeyOrder.of(column.dataType())).toArray(KeyOrder[]::new);
    }

    /** The rows of a part whose segments have distinct keys, each read once. */
    MergedBatches batches(MergePart part) {
        KeyOrder<?>[] orders = orders();
        JointRows[] rows = new JointRows[part.members().size()];
        KeyCursor[] cursors = new KeyCursor[rows.length];
        for (int i = 0; i < rows.length; i++) {
            MergePart.Member member = part.members().get(i);
            rows[i] = new JointRows(joint[member.joint().group()], wanted, keyPlaces, member.joint().file());
            cursors[i] = new KeyCursor(orders, i, true, lower(orders[0], member.lower()), RowSpans.fromBeginning().cursor(),
                rows[i]::hide, rows[i]::open);
        }
        return new MergedBatches(new KeyMerge(orders, cursors, Long.MAX_VALUE), rows, names(part));
    }

    /** The segments of a part, for errors. */
    static String names(MergePart part) {
        return part.members().stream().map(member -> member.file().filePath().toString()).toList().toString();
    }

    private List<NativePartition.Run> runs(MergePart part, KeyOrder<?>[] orders) throws IOException {
        List<MergePart.Member> members = part.members();
        MergeFiles files = part.parts() == 1 ? null : MergeFiles.of(part, columns[0], orders[0], hadoop.value().value());
        if (files != null && files.isEmpty()) {
            return List.of();
        }
        PartitionedFile[][] own = new PartitionedFile[members.size()][];
        KeyCursor[] cursors = new KeyCursor[members.size()];
        RowPositions[] allHidden = new RowPositions[members.size()];
        for (int i = 0; i < cursors.length; i++) {
            MergePart.Member member = members.get(i);
            PartitionedFile file = member.file();
            own[i] = files == null ? new PartitionedFile[] {file} : files.own(i, file);
            PartitionedFile[] near = files == null
                ? new PartitionedFile[] {SparkFiles.part(member.constants(), file, 0, file.fileSize())}
                : files.near(i, file, member.constants());
            allHidden[i] = new RowPositions(member.rows());
            RowSpans spans = files == null ? RowSpans.fromBeginning() : files.nearSpans(i);
            cursors[i] = cursor(member, i, near, spans, orders, allHidden[i]);
        }
        boolean isAlone = cursors.length == 1 && members.get(0).distinct();
        if (!isAlone) {
            new KeyMerge(orders, cursors, files == null ? Long.MAX_VALUE : files.limit(orders[0])).run();
        }
        List<NativePartition.Run> runs = new ArrayList<>();
        for (int i = 0; i < cursors.length; i++) {
            RowPositions hidden = allHidden[i];
            if (own[i].length > 0 && (isAlone || cursors[i].seen() > hidden.count())) {
                SegmentMark mark = members.get(i).mark();
                runs.add(new NativePartition.Run(members.get(i).group(), own[i], -1,
                    hidden.count() == 0 ? mark : new Hidden(hidden.bitmaps(), mark),
                    files == null ? RowSpans.fromBeginning() : files.ownSpans(i)));
            }
        }
        return runs;
    }

    private KeyCursor cursor(MergePart.Member member, int rank, PartitionedFile[] near, RowSpans spans, KeyOrder<?>[] orders,
            RowPositions hidden) {
        NativePartition.Run run = new NativePartition.Run(member.keys(), near, -1, member.mark(), null);
        SegmentReaderFactory.Way way = keys[member.keys()];
        boolean follow = member.mark() == null && way.readsAll();
        Supplier<PartitionReader<ColumnarBatch>> open = () -> (follow ? way.plain() : way).another().batches(run);
        return new KeyCursor(orders, rank, member.distinct(), lower(orders[0], member.lower()),
            follow ? spans.cursor() : null, hidden::add, open);
    }

    private <V> long lower(KeyOrder<V> order, String text) {
        return text == null ? Long.MIN_VALUE : order.prefix(order.of(Values.parse(text, columns[0].dataType())));
    }
}
