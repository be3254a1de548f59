package versioned.spark.scan;

import java.io.Serializable;

/**
 * The positions of the rows that a reader of some files yields if it skips none: Spark counts them with a boxed number a row.
 *
 * @param firsts the position of the first row of each file, or part of one
 * @param counts the number of rows of each
 */
record RowSpans(long[] firsts, long[] counts) implements Serializable {
    private static final RowSpans BEGINNING = new RowSpans(new long[] {0}, new long[] {Long.MAX_VALUE});

    /** Of a file, or of a part of it that begins where it does. */
    static RowSpans fromBeginning() {
        return BEGINNING;
    }

    /** Finds the positions of batches, one after another; none has rows of two files. */
    Cursor cursor() {
        return new Cursor();
    }

    /** Where a reader is. */
    final class Cursor {
        private int span;
        private long taken;

        /** The position of the first row of the next batch. */
        long next(int rows) {
            while (taken == counts[span]) {
                span++;
                taken = 0;
            }
            long first = firsts[span] + taken;
            taken += rows;
            if (taken > counts[span]) {
                throw new IllegalStateException(taken + " rows were read of row groups that have " + counts[span]);
            }
            return first;
        }
    }
}
