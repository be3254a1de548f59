package versioned.spark.scan;

import java.io.IOException;
import java.util.Arrays;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Merges the keys of overlapping segments, to find the rows that are not shown: those that a newer row of their key hides, and
 * tombstones (FORMAT.md, section 13). A tree of losers finds the next row with one comparison a level.
 */
final class KeyMerge {
    private static final byte DELETE = 1;
    private static final byte PUT = 0;
    private static final int STREAK = 8; // after so many rows of one segment, look how many more come
    private static final int WINDOW = 1024; // fewer rows are not worth a look for keys that are not distinct
    private static final int MOST_PAUSES = 64; // batches without such a look, at most, after keys that were not

    private final KeyCursor[] cursors;
    private final long[] heads; // of the cursors, beside each other, since most comparisons need no more
    private final long limit;
    private final int[] tree; // the winner of all, then the loser of each match
    private final Last last;
    private final KeySet keys = new KeySet();
    private final boolean isNumber; // the key is one column whose prefixes are its values
    private final boolean distinct; // each segment has distinct keys, and no tombstones
    private int before = -1; // the segment of the row that was taken last, and how many followed each other
    private int streak;
    private int pauses;
    private int pause;
    private boolean looks; // a batch was loaded since the last look

    /** @param limit rows after it are not compared: an upper bound of the prefixes of the first key column */
    KeyMerge(KeyOrder<?>[] orders, KeyCursor[] cursors, long limit) {
        this.cursors = cursors;
        this.heads = new long[cursors.length];
        this.limit = limit;
        this.tree = new int[cursors.length];
        this.last = new Last(orders);
        this.isNumber = orders.length == 1 && orders[0].isExact();
        this.distinct = Stream.of(cursors).allMatch(KeyCursor::isDistinct);
        playAll();
    }

    /** Gives each segment its hidden rows. */
    void run() throws IOException {
        try {
            while (next() >= 0) {
                load();
            }
        } finally {
            close();
        }
    }

    void close() throws IOException {
        for (KeyCursor cursor : cursors) {
            cursor.close();
        }
    }

    /**
     * Takes rows until a segment is at the last row of its batch, which is not decided yet.
     *
     * @return the index of the segment; -1 at the end of all
     */
    int next() throws IOException {
        for (KeyCursor next = cursors[tree[0]]; heads[tree[0]] <= limit && !next.isDone(); next = cursors[tree[0]]) {
            int winner = tree[0];
            if (next.isWaiting()) {
                next.open();
                looks = distinct;
            } else if (looks && skipsDistinct()) {
                before = -1;
                continue;
            } else {
                streak = winner == before ? streak + 1 : 0;
                before = winner;
                boolean many = streak >= STREAK && next.isDistinct();
                if (!take(next, many ? Math.max(1, next.before(runnerUp(winner))) : 1)) {
                    return winner;
                }
            }
            play(winner);
        }
        last.end();
        return -1;
    }

    /** Goes on with the next batch of the segment that {@link #next} has named. */
    void load() throws IOException {
        int winner = tree[0];
        last.keep();
        cursors[winner].load();
        looks = distinct;
        play(winner);
    }

    /**
     * Decides whether the last row of a batch is shown, before its segment leaves the batch. Only for segments of distinct keys:
     * then a row with its key can only be the first one of the others, which are all open if they may hold it.
     */
    void decide() {
        KeyCursor first = runnerUp(tree[0]);
        if (first != cursors[tree[0]] && first.isOpen()) {
            last.follow(first);
        }
        last.forget();
    }

    private void playAll() {
        Arrays.fill(tree, -1);
        for (int leaf = 0; leaf < cursors.length; leaf++) {
            play(leaf);
        }
    }

    /**
     * Takes all rows before the first key with which a batch ends, if no two of them have the same key: a set finds that out
     * faster than the tree orders them. After a look in vain, the next batches are not looked at.
     */
    private boolean skipsDistinct() {
        looks = false;
        if (pause > 0) {
            pause--;
            return false;
        }
        KeyCursor end = cursors[0];
        for (KeyCursor cursor : cursors) {
            end = cursor.endsBefore(end) ? cursor : end;
        }
        int[] counts = new int[cursors.length];
        int total = 0;
        for (int i = 0; i < counts.length; i++) {
            counts[i] = cursors[i].beforeEnd(end);
            total += counts[i];
        }
        if (total < WINDOW) {
            return false;
        }
        if (!areDistinct(counts, total)) {
            pauses = Math.min(MOST_PAUSES, 2 * pauses + 1);
            pause = pauses;
            return false;
        }
        pauses = 0;
        last.follow(cursors[tree[0]]);
        last.forget();
        for (int i = 0; i < counts.length; i++) {
            if (counts[i] > 0) {
                cursors[i].skip(counts[i]);
            }
        }
        playAll();
        return true;
    }

    /** Whether the next rows of the segments, so many of each, have different keys, as those of one segment do. */
    private boolean areDistinct(int[] counts, int total) {
        if (IntStream.of(counts).anyMatch(count -> count == total)) {
            return true;
        }
        boolean asBits = isNumber && clearBits(counts, total);
        if (!asBits) {
            keys.clear(total);
        }
        for (int i = 0; i < counts.length; i++) {
            if (!(asBits ? cursors[i].addBitsTo(keys, counts[i]) : cursors[i].addTo(keys, counts[i]))) {
                return false;
            }
        }
        return true;
    }

    private boolean clearBits(int[] counts, int total) {
        long low = Long.MAX_VALUE;
        long high = Long.MIN_VALUE;
        for (int i = 0; i < counts.length; i++) {
            if (counts[i] > 0) {
                low = Math.min(low, cursors[i].headAfter(0));
                high = Math.max(high, cursors[i].headAfter(counts[i] - 1));
            }
        }
        return keys.clearBits(total, low, high);
    }

    /**
     * Takes rows of one segment, which are the next ones of all; if they are several, no key has two of them.
     *
     * @return whether its batch has more
     */
    private boolean take(KeyCursor cursor, int count) {
        last.follow(cursor);
        last.set(cursor, count - 1);
        if (cursor.hasNext()) {
            cursor.skip(1);
            return true;
        }
        return false;
    }

    private void play(int leaf) {
        int winner = leaf;
        heads[leaf] = cursors[leaf].head();
        for (int node = leaf + cursors.length >>> 1; node > 0; node >>>= 1) {
            int other = tree[node];
            if (other < 0) { // the first of a match waits for the second
                tree[node] = winner;
                return;
            }
            if (isBefore(other, winner)) {
                tree[node] = winner;
                winner = other;
            }
        }
        tree[0] = winner;
    }

    private boolean isBefore(int one, int other) {
        long head = heads[other];
        return heads[one] < head || heads[one] == head && cursors[one].isBefore(cursors[other]);
    }

    /** The first of all segments but the winner, or the winner if it is alone. */
    private KeyCursor runnerUp(int winner) {
        KeyCursor first = null;
        for (int node = winner + cursors.length >>> 1; node > 0; node >>>= 1) {
            KeyCursor loser = cursors[tree[node]];
            first = first == null || loser.isBefore(first) ? loser : first;
        }
        return first == null ? cursors[winner] : first;
    }

    /** The row that was taken last, which is shown if it is the last of its key and no tombstone. */
    private static final class Last {
        private final KeyOrder<?>[] orders;
        private final long[] prefixes;
        private final Object[] values; // of columns whose prefixes are not exact, once the batch is not valid
        private KeyCursor cursor;
        private int row;
        private long position; // once the batch is not valid
        private boolean deletes;
        private boolean kept;

        Last(KeyOrder<?>[] orders) {
            this.orders = orders;
            this.prefixes = new long[orders.length];
            this.values = new Object[orders.length];
        }

        /** Decides whether it is shown, by the row that comes next. */
        void follow(KeyCursor next) {
            if (cursor != null && (deletes || hasKeyOf(next))) {
                hide();
            }
        }

        /** Forgets it: rows with its key do not follow. */
        void forget() {
            cursor = null;
        }

        void end() {
            if (cursor != null && deletes) {
                hide();
            }
        }

        private void hide() {
            cursor.hide(kept ? position : cursor.position(row));
        }

        void set(KeyCursor next, int further) {
            if (further > 0) {
                next.skip(further);
            }
            cursor = next;
            row = next.row();
            deletes = !next.isDistinct() && isDelete(next.operation());
            for (int i = 0; i < prefixes.length; i++) {
                prefixes[i] = next.prefix(i);
            }
            kept = false;
        }

        private static boolean isDelete(byte operation) {
            if (operation != PUT && operation != DELETE) {
                throw new IllegalStateException("a segment without PATCH rows holds the operation " + operation);
            }
            return operation == DELETE;
        }

        /** Keeps its key and its position, since its batch will not be valid any more. */
        void keep() {
            if (cursor == null) {
                return;
            }
            position = cursor.position(row);
            for (int i = 0; i < orders.length; i++) {
                values[i] = orders[i].isExact() ? null : value(orders[i], i);
            }
            kept = true;
        }

        private <V> V value(KeyOrder<V> order, int column) {
            return order.kept(order.get(cursor.column(column), row));
        }

        private boolean hasKeyOf(KeyCursor next) {
            for (int i = 0; i < prefixes.length; i++) {
                if (prefixes[i] != next.prefix(i)) {
                    return false;
                }
            }
            for (int i = 0; i < prefixes.length; i++) {
                if (!orders[i].isExact() && !isEqual(orders[i], i, next)) {
                    return false;
                }
            }
            return true;
        }

        @SuppressWarnings("unchecked")
        private <V> boolean isEqual(KeyOrder<V> order, int column, KeyCursor next) {
            V one = kept ? (V) values[column] : order.get(cursor.column(column), row);
            return order.compare(one, order.get(next.column(column), next.row())) == 0;
        }
    }
}
