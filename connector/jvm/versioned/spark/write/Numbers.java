package versioned.spark.write;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import versioned.spark.internals.SparkProjections;
import versioned.spark.protocol.GiveBackNumbers;
import versioned.spark.protocol.NumberedColumn;
import versioned.spark.protocol.TableRef;
import versioned.spark.protocol.TakeNumbers;
import versioned.spark.protocol.TakenNumbers;
import versioned.spark.python.Condition;
import versioned.spark.python.Python;
import versioned.spark.python.Refusal;
import versioned.spark.python.VersionedException;

/** The numbers of a write's rows in identity columns: taken before its tasks begin, and told with the commit. */
final class Numbers {
    private final TableRef table;
    private final List<NumberedColumn> columns;
    private final boolean addsRows;
    private final boolean replacesRows;
    private List<TakenNumbers> taken = List.of();
    private boolean isTold;

    /**
     * @param addsRows whether there may be rows without a number
     * @param replacesRows whether there may be rows that had a number before
     */
    Numbers(TableRef table, List<NumberedColumn> columns, boolean addsRows, boolean replacesRows) {
        this.table = table;
        this.columns = columns;
        this.addsRows = addsRows;
        this.replacesRows = replacesRows;
    }

    /** What the tasks number their rows by; null if the table has no identity columns. */
    ForTasks take(int tasks, StructType schema) {
        if (columns.isEmpty()) {
            return null;
        }
        if (addsRows) {
            taken = Python.send(new TakeNumbers(table, tasks)).numbers();
        }
        return new ForTasks(table.name(), new ArrayList<>(columns), new ArrayList<>(taken), tasks, !replacesRows, numbered(schema));
    }

    /** What was taken, for the commit of the rows. */
    List<TakenNumbers> taken() {
        return taken;
    }

    /** Runs the commit of the rows. Unless it is refused for certain, it may land later, with what was taken. */
    void commit(Runnable commit) {
        isTold = true;
        try {
            commit.run();
        } catch (Exception e) {
            isTold = !(e instanceof Refusal || e instanceof VersionedException error && !error.isOutcomeUnknown());
            throw e;
        }
    }

    /** Gives back what was taken for rows that are not committed. */
    void giveBack() {
        if (!taken.isEmpty() && !isTold) {
            Python.send(new GiveBackNumbers(table, taken));
        }
    }

    /** The stored columns, of a row and the numbers that it lacks. */
    private List<Expression> numbered(StructType schema) {
        List<Expression> values = new ArrayList<>();
        for (int i = 0; i < schema.size(); i++) {
            values.add(SparkProjections.column(i, CharVarcharUtils.replaceCharVarcharWithString(schema.fields()[i].dataType())));
        }
        for (int i = 0; i < columns.size(); i++) {
            int index = columns.get(i).index();
            Expression value = values.get(index);
            values.set(index, SparkProjections.ifNull(value, SparkProjections.column(schema.size() + i, DataTypes.LongType), value));
        }
        return values;
    }

    /**
     * The columns, and their numbers: task p of n has every n-th one from the p-th on. It is sent to executors.
     *
     * @param refuses whether rows may not bring numbers of their own
     * @param numbered the stored columns, of a row and its numbers
     */
    record ForTasks(String table, List<NumberedColumn> columns, List<TakenNumbers> taken, int tasks, boolean refuses,
            List<Expression> numbered) implements Serializable {
        Task of(int task) {
            return new Task(this, task);
        }
    }

    /** Numbers the rows of a task. */
    static final class Task {
        private final ForTasks of;
        private final long[] next;
        private final UnaryOperator<InternalRow> numbering;
        private final long[] numbers;
        private final UnsafeRow copy;
        private final JoinedRow joined = new JoinedRow();

        private Task(ForTasks of, int task) {
            this.of = of;
            this.next = new long[of.columns().size()];
            this.numbers = new long[next.length];
            this.copy = UnsafeRow.createFromByteArray(0, of.numbered().size());
            this.numbering = SparkProjections.compile(of.numbered());
            Arrays.fill(next, task);
        }

        /** A row with numbers in place of nulls; it is valid until the next one. */
        InternalRow numbered(InternalRow row) {
            boolean lacks = false;
            for (int i = 0; i < next.length; i++) {
                NumberedColumn column = of.columns().get(i);
                if (row.isNullAt(column.index())) {
                    numbers[i] = number(i, column);
                    lacks = true;
                } else if (of.refuses() && column.always()) {
                    throw Condition.NOT_SUPPORTED.error(of.table() + ": " + column.name() + " is GENERATED ALWAYS AS IDENTITY, and a row to "
                        + "write brings the number " + row.getLong(column.index()) + "; leave the column out, or declare it GENERATED BY "
                        + "DEFAULT AS IDENTITY");
                }
            }
            return lacks ? filled(row) : row;
        }

        /** A copy with the numbers; the row itself may be written again, by another attempt of the task. */
        private InternalRow filled(InternalRow row) {
            if (!(row instanceof UnsafeRow unsafe && unsafe.numFields() == copy.numFields())) {
                return numbering.apply(joined.apply(row, new GenericInternalRow(Arrays.stream(numbers).boxed().toArray())));
            }
            copy.copyFrom(unsafe);
            for (int i = 0; i < next.length; i++) {
                int index = of.columns().get(i).index();
                if (row.isNullAt(index)) {
                    copy.setLong(index, numbers[i]);
                }
            }
            return copy;
        }

        private long number(int i, NumberedColumn column) {
            if (of.taken().isEmpty()) {
                throw Condition.INVALID_VALUE.error(of.table() + ": the identity column " + column.name() + " is NOT NULL, and a row would "
                    + "have null in it; leave it out of SET");
            }
            TakenNumbers taken = of.taken().get(i);
            long at = next[i];
            if (at >= taken.count()) {
                throw Condition.NOT_SUPPORTED.error(of.table() + ": a task writes more rows than it has numbers for in " + column.name()
                    + "; write the rows in more tasks, as DataFrame.repartition makes them, or in several statements");
            }
            next[i] += of.tasks();
            return taken.first() + taken.step() * at;
        }
    }
}
