package versioned.spark.write;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.CRC32;
import org.apache.spark.unsafe.types.UTF8String;
import org.roaringbitmap.longlong.Roaring64NavigableMap;
import versioned.spark.protocol.MarkedRows;

/** Positions of rows to mark, by segment. */
final class MarkedPositions {
    /** The magic number of {@code deletion-vector-v1}. */
    private static final byte[] VECTOR = {(byte) 0xd1, (byte) 0xd3, 0x39, 0x64};

    /** Positions as they travel: bitmaps in Roaring's portable form for 64 bits, by segment. */
    record Bytes(Map<String, byte[]> bySegment) implements Serializable {}

    private final Map<UTF8String, Roaring64NavigableMap> bySegment = new HashMap<>();
    private UTF8String last;
    private Roaring64NavigableMap positions;

    /** Adds a row; rows of a segment mostly come together. */
    void add(UTF8String segment, long position) {
        if (!segment.equals(last)) {
            last = segment.clone(); // Spark uses the bytes again for the next row
            positions = bySegment.computeIfAbsent(last, path -> new Roaring64NavigableMap());
        }
        positions.addLong(position);
    }

    /** Adds the positions of a task. */
    void add(Bytes other) {
        other.bySegment().forEach((segment, bitmap) ->
            bySegment.computeIfAbsent(UTF8String.fromString(segment), any -> new Roaring64NavigableMap())
                .or(parsed(bitmap)));
    }

    /** The number of positions. */
    long count() {
        return bySegment.values().stream().mapToLong(Roaring64NavigableMap::getLongCardinality).sum();
    }

    Bytes bytes() {
        Map<String, byte[]> bitmaps = new TreeMap<>();
        bySegment.forEach((segment, bitmap) -> bitmaps.put(segment.toString(), portable(bitmap)));
        return new Bytes(bitmaps);
    }

    /** The rows as a request has them, by path. */
    List<MarkedRows> rows() {
        List<MarkedRows> rows = new ArrayList<>();
        bytes().bySegment().forEach(
            (segment, bitmap) -> rows.add(new MarkedRows(segment, blob(bitmap))));
        return rows;
    }

    /** A blob {@code deletion-vector-v1}: length, magic number, bitmap, checksum. */
    private static byte[] blob(byte[] bitmap) {
        CRC32 checksum = new CRC32();
        checksum.update(VECTOR);
        checksum.update(bitmap);
        int length = VECTOR.length + bitmap.length;
        return ByteBuffer.allocate(Integer.BYTES + length + Integer.BYTES)
            .putInt(length).put(VECTOR).put(bitmap).putInt((int) checksum.getValue()).array();
    }

    private static byte[] portable(Roaring64NavigableMap bitmap) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        Roaring64NavigableMap plain = new Roaring64NavigableMap();
        bitmap.forEach(plain::addLong); // a union may have containers of runs, which readers refuse
        try {
            plain.serializePortable(new DataOutputStream(bytes));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    private static Roaring64NavigableMap parsed(byte[] portable) {
        Roaring64NavigableMap bitmap = new Roaring64NavigableMap();
        try {
            bitmap.deserializePortable(new DataInputStream(new ByteArrayInputStream(portable)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bitmap;
    }
}
