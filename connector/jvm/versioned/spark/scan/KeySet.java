package versioned.spark.scan;

import java.util.Arrays;

/** A set of row keys, to find out whether some rows of different segments have different keys: of their 64-bit hashes, or of numbers. */
final class KeySet {
    private static final int SPARSE = 4; // slots for each key, at least half of it

    private long[] slots = new long[0];
    private int size;
    private int shift;
    private long low;

    /** Empties the set, which will take the hashes of so many keys. */
    void clear(int keys) {
        size = Integer.highestOneBit(Math.max(keys, 1)) * SPARSE;
        shift = Long.SIZE - Integer.numberOfTrailingZeros(size);
        empty(size);
    }

    /**
     * Empties the set, which will take so many numbers from {@code low} to {@code high}, as bits, unless hashes take less memory.
     *
     * @return whether it will
     */
    boolean clearBits(int keys, long low, long high) {
        long span = high - low;
        if (span < 0 || span / Long.SIZE >= (long) keys * SPARSE / 2) { // the difference may be too large for a number
            return false;
        }
        this.low = low;
        empty((int) (span / Long.SIZE) + 1);
        return true;
    }

    private void empty(int words) {
        if (slots.length < words) {
            slots = new long[words];
        } else {
            Arrays.fill(slots, 0, words, 0);
        }
    }

    /** Adds some numbers; returns whether none of them was there. */
    boolean addBits(long[] numbers, int begin, int end) {
        for (int at = begin; at < end; at++) {
            long number = numbers[at] - low;
            int word = (int) (number >>> 6);
            long bit = 1L << number;
            if ((slots[word] & bit) != 0) {
                return false;
            }
            slots[word] |= bit;
        }
        return true;
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
