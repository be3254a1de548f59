package versioned.spark.scan;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import versioned.spark.protocol.NativeGroup;
import versioned.spark.protocol.RowIdColumn;

/**
 * How {@code _row_id} or {@code _row_updated} is computed from the columns that Spark reads, which are all BIGINT: it is what
 * the file stores, if that is not null and not too late, else the base and, of an ID, the row's position. The versions that files
 * store count from 1.
 *
 * @param stored the index of the column of the file; -1 for none
 * @param most that of the constant above which a stored value does not count; -1 for none
 * @param base that of the constant from which the others are counted
 * @param position that of the row's position; -1 for none
 */
record RowNumbers(int stored, int most, int base, int position) implements Serializable {

    /** For each wanted column, how it is computed; null if it is read. */
    static RowNumbers[] of(NativeGroup group) {
        RowNumbers[] all = new RowNumbers[group.order().length];
        for (RowIdColumn column : group.rowIds()) {
            all[column.index()] = new RowNumbers(index(column.stored()), index(column.most()), column.base(), index(column.position()));
        }
        return all;
    }

    private static int index(Integer place) {
        return place == null ? -1 : place;
    }

    /** The same in rows without a column, which this one does not need. */
    RowNumbers withoutPosition(int index) {
        return new RowNumbers(before(stored, index), before(most, index), before(base, index), before(position, index));
    }

    private static int before(int place, int index) {
        return place > index ? place - 1 : place;
    }

    long value(InternalRow row) {
        if (stored >= 0 && !row.isNullAt(stored)) {
            long number = row.getLong(stored);
            if (most < 0) {
                return number;
            }
            if (number - 1 <= row.getLong(most)) {
                return number - 1;
            }
        }
        return row.getLong(base) + (position < 0 ? 0 : row.getLong(position));
    }
}
