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
 * Finds the rows of overlapping segments that are not shown, from their keys alone, so that each segment can then be read as
 * one whose rows are marked.
 *
 * @param keys readers of the columns of the row key, and of the sequence, the type of operation and the position of each row
 * @param columns the columns of the row key
 */
record MergedSegments(SegmentReaderFactory.Way[] keys, StructField[] columns, Broadcast<SerializableConfiguration> hadoop)
        implements Serializable {
    private static final int AFTER_KEYS = 3;

    /** Rows that newer rows hide, and those that the log marks. */
    private record Hidden(RoaringBitmap[] rows, SegmentMark mark) implements RowMark {
        @Override
        public MarkedRows load(Configuration hadoop) {
            return mark == null ? new MarkedRows(rows) : mark.load(hadoop).and(rows);
        }
    }

    /** @param groups the ways of reading keys; at least one */
    static MergedSegments of(List<NativeGroup> groups, SegmentReaderFactory.Way[] keys,
            Broadcast<SerializableConfiguration> hadoop) {
        StructField[] read = groups.get(0).readSchema().fields();
        return new MergedSegments(keys, Arrays.copyOf(read, groups.get(0).order().length - AFTER_KEYS), hadoop);
    }

    /** What to read of the segments of a part. */
    List<NativePartition.Run> runs(MergePart part) {
        KeyOrder<?>[] orders = Stream.of(columns).map(column -> KeyOrder.of(column.dataType())).toArray(KeyOrder[]::new);
        try {
            return runs(part, orders);
        } catch (IOException e) {
            throw new UncheckedIOException("can't read the row keys of " + names(part) + ": " + e.getMessage(), e);
        }
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
        for (int i = 0; i < cursors.length; i++) {
            MergePart.Member member = members.get(i);
            PartitionedFile file = member.file();
            own[i] = files == null ? new PartitionedFile[] {file} : files.own(i, file);
            PartitionedFile[] near = files == null
                ? new PartitionedFile[] {SparkFiles.part(member.constants(), file, 0, file.fileSize())}
                : files.near(i, file, member.constants());
            cursors[i] = cursor(member, i, near, files == null ? RowSpans.fromBeginning() : files.nearSpans(i), orders);
        }
        boolean isAlone = cursors.length == 1 && members.get(0).distinct();
        if (!isAlone) {
            KeyMerge.run(orders, cursors, files == null ? Long.MAX_VALUE : files.limit(orders[0]));
        }
        List<NativePartition.Run> runs = new ArrayList<>();
        for (int i = 0; i < cursors.length; i++) {
            RowPositions hidden = cursors[i].hidden();
            if (own[i].length > 0 && (isAlone || cursors[i].seen() > hidden.count())) {
                SegmentMark mark = members.get(i).mark();
                runs.add(new NativePartition.Run(members.get(i).group(), own[i], -1,
                    hidden.count() == 0 ? mark : new Hidden(hidden.bitmaps(), mark),
                    files == null ? RowSpans.fromBeginning() : files.ownSpans(i)));
            }
        }
        return runs;
    }

    private KeyCursor cursor(MergePart.Member member, int rank, PartitionedFile[] near, RowSpans spans, KeyOrder<?>[] orders) {
        NativePartition.Run run = new NativePartition.Run(member.keys(), near, -1, member.mark(), null);
        SegmentReaderFactory.Way way = keys[member.keys()];
        boolean follow = member.mark() == null && way.readsAll();
        Supplier<PartitionReader<ColumnarBatch>> open = () -> (follow ? way.plain() : way).another().batches(run);
        return new KeyCursor(orders, rank, member.distinct(), lower(orders[0], member.lower()), member.rows(),
            follow ? spans.cursor() : null, open);
    }

    private <V> long lower(KeyOrder<V> order, String text) {
        return text == null ? Long.MIN_VALUE : order.prefix(order.of(Values.parse(text, columns[0].dataType())));
    }
}
