package versioned.spark.scan;

import java.util.Arrays;

/** A set of 64-bit hashes of row keys, to find out whether some rows of different segments have different keys. */
final class KeySet {
    private static final int SPARSE = 4; // slots for each key, at least half of it

    private long[] slots = new long[0];
    private int size;
    private int shift;

    /** Empties the set, which will take so many keys. */
    void clear(int keys) {
        size = Integer.highestOneBit(Math.max(keys, 1)) * SPARSE;
        shift = Long.SIZE - Integer.numberOfTrailingZeros(size);
        if (slots.length < size) {
            slots = new long[size];
        } else {
            Arrays.fill(slots, 0, size, 0);
        }
    }

    /** Adds a hash; returns whether it was not there. */
    boolean add(long hash) {
        long value = hash == 0 ? 1 : hash;
        int slot = (int) (value >>> shift);
        while (slots[slot] != 0) {
            if (slots[slot] == value) {
                return false;
            }
            slot = slot + 1 & size - 1;
        }
        slots[slot] = value;
        return true;
    }
}
