package versioned.spark.scan;

import org.roaringbitmap.RoaringBitmap;
import org.roaringbitmap.RoaringBitmapWriter;

/** Positions of rows of a segment, added in ascending order. */
final class RowPositions {
    private final RoaringBitmap[] bitmaps; // by the upper 32 bits of a position
    private RoaringBitmapWriter<RoaringBitmap> writer;
    private int upper = -1;
    private long count;

    /** @param rows number of rows of the segment */
    RowPositions(long rows) {
        bitmaps = new RoaringBitmap[(int) (Math.max(rows, 1) - 1 >>> 32) + 1];
    }

    void add(long position) {
        if (position >>> 32 != upper) {
            flush();
            upper = (int) (position >>> 32);
            writer = RoaringBitmapWriter.writer().constantMemory().get();
        }
        writer.add((int) position);
        count++;
    }

    long count() {
        return count;
    }

    /** All positions; none is added after this. */
    RoaringBitmap[] bitmaps() {
        flush();
        for (int i = 0; i < bitmaps.length; i++) {
            bitmaps[i] = bitmaps[i] == null ? new RoaringBitmap() : bitmaps[i];
        }
        return bitmaps;
    }

    private void flush() {
        if (writer != null) {
            bitmaps[upper] = writer.get();
            writer = null;
        }
    }
}
