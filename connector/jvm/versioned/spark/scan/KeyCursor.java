package versioned.spark.scan;

import java.io.IOException;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Reads the keys of one segment in order, one batch at a time. It is opened when the merge reaches its lower bound, since a
 * merge may have more segments than there is memory for.
 */
final class KeyCursor {
    /** Where a segment is in its merge: it may hold keys from its lower bound on, is at a row, or has no rows left. */
    private enum State { WAITING, OPEN, DONE }

    private final KeyOrder<?>[] orders;
    private final int rank;
    private final boolean distinct;
    private final LongConsumer hidden;
    private final RowSpans.Cursor positions; // null if a column has them
    private final Supplier<PartitionReader<ColumnarBatch>> open;
    private final long[][] prefixes;
    private State state = State.WAITING;
    private long head; // the prefix of the first key column of this row, or of the lower bound
    private PartitionReader<ColumnarBatch> reader;
    private ColumnarBatch batch;
    private int row;
    private int rows;
    private long seen;
    private long first; // the position of the first row of the batch, unless a column has it

    /**
     * @param orders of the key columns; after them, a batch has the sequence, the type of operation and the position of each row
     * @param rank orders rows of one key and one sequence: that of the greatest counts
     * @param distinct whether all rows are PUT rows of distinct keys
     * @param lower the prefix of a lower bound of the first key column
     * @param positions of the rows of its batches; null if the batches have them
     * @param hidden takes the positions of the rows that are not shown, in ascending order
     */
    KeyCursor(KeyOrder<?>[] orders, int rank, boolean distinct, long lower, RowSpans.Cursor positions, LongConsumer hidden,
            Supplier<PartitionReader<ColumnarBatch>> open) {
        this.orders = orders;
        this.rank = rank;
        this.distinct = distinct;
        this.head = lower;
        this.positions = positions;
        this.hidden = hidden;
        this.open = open;
        this.prefixes = new long[orders.length][];
    }

    boolean isWaiting() {
        return state == State.WAITING;
    }

    boolean isOpen() {
        return state == State.OPEN;
    }

    boolean isDone() {
        return state == State.DONE;
    }

    boolean isDistinct() {
        return distinct;
    }

    void hide(long position) {
        hidden.accept(position);
    }

    /** Number of rows that were read; row groups without wanted keys are not. */
    long seen() {
        return seen;
    }

    /** Opens the segment at its first row. */
    void open() throws IOException {
        reader = open.get();
        state = State.OPEN;
        load();
    }

    /** Whether the batch has a row after this one. */
    boolean hasNext() {
        return row + 1 < rows;
    }

    /** Moves on within the batch. */
    void skip(int count) {
        row += count;
        head = prefixes[0][row];
    }

    /** Moves to the first row of the next batch. What was read of this batch is not valid any more. */
    void load() throws IOException {
        TaskContext context = TaskContext.get();
        if (context != null) {
            context.killTaskIfInterrupted();
        }
        do {
            if (!reader.next()) {
                close();
                return;
            }
            batch = reader.get();
        } while (batch.numRows() == 0);
        row = 0;
        rows = batch.numRows();
        seen += rows;
        first = positions == null ? -1 : positions.next(rows);
        for (int i = 0; i < orders.length; i++) {
            if (batch.column(i).hasNull()) {
                throw new IOException("a column of the row key holds a null");
            }
            if (prefixes[i] == null || prefixes[i].length < rows) {
                prefixes[i] = new long[rows];
            }
            orders[i].prefixes(batch.column(i), rows, prefixes[i]);
        }
        head = prefixes[0][0];
    }

    void close() throws IOException {
        state = State.DONE;
        head = Long.MAX_VALUE;
        batch = null;
        if (reader != null) {
            reader.close();
            reader = null;
        }
    }

    int row() {
        return row;
    }

    /**
     * The prefix of the first key column of this row, or of a lower bound if the segment is not open yet. At the end it is the
     * greatest number.
     */
    long head() {
        return head;
    }

    long prefix(int column) {
        return prefixes[column][row];
    }

    ColumnVector column(int column) {
        return batch.column(column);
    }

    byte operation() {
        return batch.column(orders.length + 1).getByte(row);
    }

    long position(int at) {
        return positions == null ? batch.column(orders.length + 2).getLong(at) : first + at;
    }

    private long sequence() {
        return batch.column(orders.length).getLong(row);
    }

    /** Whether this row is before that of another, by its key and then by its age. */
    boolean isBefore(KeyCursor other) {
        if (state == State.DONE || other.state == State.DONE) {
            return other.state == State.DONE && (state != State.DONE || rank < other.rank);
        }
        if (head != other.head) {
            return head < other.head;
        }
        if (state == State.WAITING || other.state == State.WAITING) {
            return state == State.WAITING && (other.state != State.WAITING || rank < other.rank);
        }
        int order = compareKeys(row, other, other.row);
        if (order == 0) {
            order = Long.compare(sequence(), other.sequence());
        }
        return order == 0 ? rank < other.rank : order < 0;
    }

    /** The number of rows from this one on, in this batch, whose keys are before that of another. */
    int before(KeyCursor other) {
        int low = row; // all rows before it are before the other
        int step = 1;
        while (low + step <= rows && isKeyBefore(low + step - 1, other)) {
            low += step;
            step *= 2;
        }
        int high = Math.min(rows, low + step - 1); // no row from here on is, or the batch ends
        while (low < high) {
            int middle = low + high >>> 1;
            if (isKeyBefore(middle, other)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low - row;
    }

    /** The key with which the batch ends, or the lower bound of a segment that is not open yet, is before that of another. */
    boolean endsBefore(KeyCursor other) {
        long mine = state == State.OPEN ? prefixes[0][rows - 1] : head;
        long its = other.state == State.OPEN ? other.prefixes[0][other.rows - 1] : other.head;
        if (mine != its || state != State.OPEN || other.state != State.OPEN) {
            return mine < its || mine == its && state == State.WAITING;
        }
        return compareKeys(rows - 1, other, other.rows - 1) < 0;
    }

    /** The number of rows from this one on, in this batch, whose keys are before the end of another, as {@code endsBefore} says. */
    int beforeEnd(KeyCursor other) {
        if (state != State.OPEN) {
            return 0;
        }
        int low = row;
        int high = rows;
        while (low < high) {
            int middle = low + high >>> 1;
            long prefix = prefixes[0][middle];
            long end = other.state == State.OPEN ? other.prefixes[0][other.rows - 1] : other.head;
            if (prefix < end || prefix == end && other.state == State.OPEN && compareKeys(middle, other, other.rows - 1) < 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low - row;
    }

    /** The prefix of the first key column of a row after this one. */
    long headAfter(int count) {
        return prefixes[0][row + count];
    }

    /** Adds the numbers that are the keys of rows from this one on; returns whether all of them are new. */
    boolean addBitsTo(KeySet keys, int count) {
        return keys.addBits(prefixes[0], row, row + count);
    }

    /** Adds the keys of rows from this one on; returns whether all of them are new. */
    boolean addTo(KeySet keys, int count) {
        for (int at = row; at < row + count; at++) {
            long hash = 0;
            for (long[] column : prefixes) {
                hash = mixed(hash + column[at]);
            }
            if (!keys.add(hash)) {
                return false;
            }
        }
        return true;
    }

    /** The finalizer of MurmurHash3, which maps different numbers to different ones. */
    private static long mixed(long number) {
        long mixed = (number ^ number >>> 33) * 0xff51afd7ed558ccdL;
        mixed = (mixed ^ mixed >>> 33) * 0xc4ceb9fe1a85ec53L;
        return mixed ^ mixed >>> 33;
    }

    private boolean isKeyBefore(int at, KeyCursor other) {
        long prefix = prefixes[0][at];
        return other.state == State.DONE || prefix < other.head
            || prefix == other.head && other.state == State.OPEN && compareKeys(at, other, other.row) < 0;
    }

    private int compareKeys(int at, KeyCursor other, int row) {
        for (int i = 0; i < orders.length; i++) {
            long one = prefixes[i][at];
            long two = other.prefixes[i][row];
            if (one != two) {
                return one < two ? -1 : 1;
            }
            if (!orders[i].isExact()) {
                int order = compareValues(orders[i], column(i), at, other.column(i), row);
                if (order != 0) {
                    return order;
                }
            }
        }
        return 0;
    }

    private static <V> int compareValues(KeyOrder<V> order, ColumnVector one, int at, ColumnVector other, int row) {
        return order.compare(order.get(one, at), order.get(other, row));
    }
}
