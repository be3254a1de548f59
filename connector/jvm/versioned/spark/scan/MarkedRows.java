package versioned.spark.scan;

import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.roaringbitmap.PeekableIntIterator;
import org.roaringbitmap.RoaringBitmap;

/** The deleted rows of a segment, which are looked up in the order of their positions. */
final class MarkedRows {
    private static final int MAGIC = 0xd1d33964;
    private static final int AROUND = 12; // the length, the magic number and the checksum
    private static final String NOT_PORTABLE = "a bitmap of marked rows is not in the portable form of Roaring";
    private static final long POSITIONS_PER_BYTE = 8; // in a container of bits; runs, which are not written, may hold more

    private final RoaringBitmap[] bitmaps; // by the upper 32 bits of a position
    private int upper = -1;
    private PeekableIntIterator lower;
    private long next = -1;

    /** @param bitmaps by the upper 32 bits of a position, for all rows of a segment */
    MarkedRows(RoaringBitmap[] bitmaps) {
        this.bitmaps = bitmaps;
    }

    /** These rows and others of the segment, from the first on. */
    MarkedRows and(RoaringBitmap[] others) {
        RoaringBitmap[] both = new RoaringBitmap[bitmaps.length];
        for (int i = 0; i < both.length; i++) {
            both[i] = RoaringBitmap.or(bitmaps[i], others[i]);
        }
        return new MarkedRows(both);
    }

    /**
     * The rows of a blob {@code deletion-vector-v1}, which Python reads by the same rules ({@code log/bitmaps.py}).
     *
     * @param marked number of positions that must be in it
     * @param rows number of rows of the segment
     * @throws IOException with a message if it is damaged
     */
    public static MarkedRows of(ByteBuffer blob, long marked, long rows) throws IOException {
        int end = blob.remaining() - 4;
        if (end + 4 < AROUND || blob.getInt() != end - 4 || blob.getInt() != MAGIC) {
            throw new IOException("a bitmap of marked rows does not have the form deletion-vector-v1");
        }
        CRC32 checksum = new CRC32();
        checksum.update(blob.duplicate().position(4).limit(end));
        if ((int) checksum.getValue() != blob.getInt(end)) {
            throw new IOException("a bitmap of marked rows does not have its checksum");
        }
        RoaringBitmap[] bitmaps = bitmaps(blob.slice(8, end - 8).order(ByteOrder.LITTLE_ENDIAN), rows);
        long found = 0;
        for (RoaringBitmap bitmap : bitmaps) {
            found += bitmap.getLongCardinality();
        }
        if (found > POSITIONS_PER_BYTE * (end - 8)) {
            throw new IOException(NOT_PORTABLE);
        }
        if (found != marked) {
            throw new IOException("a bitmap marks " + found + " rows, and the log says " + marked);
        }
        return new MarkedRows(bitmaps);
    }

    private static RoaringBitmap[] bitmaps(ByteBuffer data, long rows) throws IOException {
        RoaringBitmap[] bitmaps = new RoaringBitmap[(int) (rows - 1 >>> 32) + 1];
        int filled = 0;
        try {
            for (long count = data.getLong(); count != 0; count--) {
                int key = data.getInt();
                if (key < filled) {
                    throw new IOException(NOT_PORTABLE);
                }
                RoaringBitmap bitmap = bitmap(data);
                long last = (long) key << 32 | Integer.toUnsignedLong(bitmap.last());
                if (last >= rows) {
                    throw new IOException("row " + last + " is marked in a segment of " + rows + " rows");
                }
                while (filled < key) {
                    bitmaps[filled++] = new RoaringBitmap();
                }
                bitmaps[filled++] = bitmap;
            }
        } catch (RuntimeException e) { // an index that is out of bounds, or the end of the data
            throw new IOException("a bitmap of marked rows can't be read: " + e);
        }
        if (data.hasRemaining()) {
            throw new IOException(NOT_PORTABLE);
        }
        while (filled < bitmaps.length) {
            bitmaps[filled++] = new RoaringBitmap();
        }
        return bitmaps;
    }

    private static RoaringBitmap bitmap(ByteBuffer data) throws IOException {
        RoaringBitmap bitmap = new RoaringBitmap();
        bitmap.deserialize(data.slice().order(ByteOrder.LITTLE_ENDIAN)); // whether that moves the slice is not specified
        data.position(data.position() + bitmap.serializedSizeInBytes());
        return bitmap;
    }

    /** Whether a row is deleted. */
    boolean contains(long position) {
        return from(position) == position;
    }

    /**
     * The rows of a batch that are not deleted.
     *
     * @param positions the ascending positions of the rows
     * @param rows number of rows, at least one
     * @param kept takes their indexes in the batch
     * @return how many they are
     */
    int keep(ColumnVector positions, int rows, int[] kept) {
        long first = positions.getLong(0);
        return positions.getLong(rows - 1) - first == rows - 1 ? keep(first, rows, kept) : keepEach(positions, rows, kept);
    }

    /** The same of rows whose positions follow each other, which only skipped pages interrupt. */
    int keep(long first, int rows, int[] kept) {
        int count = 0;
        int row = 0;
        while (row < rows) {
            int deleted = (int) Math.min(rows, from(first + row) - first);
            while (row < deleted) {
                kept[count++] = row++;
            }
            row++;
        }
        return count;
    }

    private int keepEach(ColumnVector positions, int rows, int[] kept) {
        int count = 0;
        for (int row = 0; row < rows; row++) {
            if (!contains(positions.getLong(row))) {
                kept[count++] = row;
            }
        }
        return count;
    }

    /** The first deleted row at or after a position, which must not be before that of an earlier call. */
    public long from(long position) {
        while (next < position) {
            if (lower != null && lower.hasNext()) {
                next = (long) upper << 32 | Integer.toUnsignedLong(lower.next());
            } else if (++upper == bitmaps.length) {
                next = Long.MAX_VALUE;
            } else {
                lower = bitmaps[upper].getIntIterator();
                if (position >>> 32 == upper) {
                    lower.advanceIfNeeded((int) position);
                }
            }
        }
        return next;
    }
}
