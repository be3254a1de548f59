package versioned.spark.write;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import versioned.spark.internals.SparkDefaults;
import versioned.spark.internals.SparkProjections;
import versioned.spark.protocol.*;

/**
 * Projects the rows of a writer who does not see all columns, or sees them in an earlier schema, to rows of the stored
 * columns. Unseen columns take their default in new rows and keep their values in others. It is sent to executors.
 */
final class StoredProjection implements Serializable {
    private final StructType schema;
    private final List<Expression> inserted;
    private final List<Expression> replaced;

    private StoredProjection(StructType schema, List<Expression> inserted, List<Expression> replaced) {
        this.schema = schema;
        this.inserted = inserted;
        this.replaced = replaced;
    }

    /**
     * @param rows what Python says of each stored column; null if the given rows are stored as they are
     * @param given the columns of the writer's rows, in the order that the sources count
     * @param places for each of these, its index in Spark's rows, which have {@code width} columns
     * @param carried the columns of the row with old values
     * @return null if there is nothing to project
     */
    static StoredProjection of(StoredRows rows, StructType given, int[] places, int width, StructType carried) {
        if (rows == null) {
            return null;
        }
        List<Expression> columns = new ArrayList<>();
        for (int i = 0; i < places.length; i++) {
            columns.add(SparkProjections.column(places[i], plain(given.fields()[i].dataType())));
        }
        List<Expression> old = new ArrayList<>();
        for (StructField column : carried.fields()) {
            old.add(SparkProjections.column(width + old.size(), plain(column.dataType())));
        }
        StructType schema = CharVarcharUtils.replaceCharVarcharWithStringInSchema(rows.schema());
        return new StoredProjection(schema, all(rows, schema, columns, List.of()), all(rows, schema, columns, old));
    }

    private static DataType plain(DataType type) {
        return CharVarcharUtils.replaceCharVarcharWithString(type);
    }

    private static List<Expression> all(StoredRows rows, StructType schema, List<Expression> given, List<Expression> old) {
        List<Expression> values = new ArrayList<>();
        for (int i = 0; i < schema.size(); i++) {
            StructField column = schema.fields()[i];
            values.add(value(rows.sources().get(i), column, List.of(column.name()), given, old));
        }
        return values;
    }

    /**
     * @param given the columns, or fields, that are given
     * @param old those with old values; empty for a new row
     */
    private static Expression value(ColumnSource source, StructField column, List<String> path, List<Expression> given,
            List<Expression> old) {
        if (source instanceof UnseenColumn unseen) {
            return unseen.carried() != null && !old.isEmpty() ? old.get(unseen.carried()) : newValue(unseen, column, path);
        }
        if (source instanceof NextVersion next) {
            return old.isEmpty() ? SparkProjections.constant(null, column.dataType())
                : SparkProjections.next(old.get(next.carried()));
        }
        GivenColumn seen = (GivenColumn) source;
        Expression value = given.get(seen.index());
        Expression carried = seen.carried() != null && !old.isEmpty() ? old.get(seen.carried()) : null;
        Expression built = seen.fields() == null ? SparkProjections.widened(value, column.dataType())
            : column.dataType() instanceof StructType type ? struct(seen, type, path, value, carried)
            : array(seen, (ArrayType) column.dataType(), path, value, carried);
        return column.nullable() ? built : SparkProjections.notNull(built, path);
    }

    private static Expression newValue(UnseenColumn unseen, StructField column, List<String> path) {
        Object value = unseen.defaultValue() == null ? null
            : SparkDefaults.value(column.name(), column.dataType(), unseen.defaultValue());
        Expression constant = SparkProjections.constant(value, column.dataType());
        return value != null || column.nullable() ? constant : SparkProjections.notNull(constant, path);
    }

    /** A struct around its fields. Where there was no struct, its unseen fields have no old values. */
    private static Expression struct(GivenColumn seen, StructType type, List<String> path, Expression value,
            Expression carried) {
        List<Expression> given = fieldsOf(value);
        List<Expression> old = carried == null ? List.of() : fieldsOf(carried);
        List<Expression> fields = new ArrayList<>();
        for (int i = 0; i < type.size(); i++) {
            StructField field = type.fields()[i];
            List<String> below = below(path, field.name());
            Expression found = value(seen.fields().get(i), field, below, given, old);
            fields.add(carried != null && seen.fields().get(i) instanceof UnseenColumn unseen && unseen.carried() != null
                ? SparkProjections.ifNull(carried, newValue(unseen, field, below), found) : found);
        }
        return SparkProjections.ifNull(value, SparkProjections.constant(null, type), SparkProjections.struct(type, fields));
    }

    /** An array around its elements. One whose seen parts are what they were keeps its unseen parts, too. */
    private static Expression array(GivenColumn seen, ArrayType type, List<String> path, Expression value,
            Expression carried) {
        StructField element = new StructField("element", type.elementType(), type.containsNull(), Metadata.empty());
        ColumnSource source = seen.fields().get(0);
        Expression built = SparkProjections.elements(value,
            one -> value(source, element, below(path, "element"), List.of(one), List.of()));
        if (carried == null) {
            return built;
        }
        Expression before = SparkProjections.widened(carried, type);
        Expression blank = SparkProjections.elements(before, one -> blank(source, element, one));
        Expression same = SparkProjections.elements(built, one -> blank(source, element, one));
        return SparkProjections.ifSame(same, blank, before, built);
    }

    /** A stored value with null in its unseen parts. */
    private static Expression blank(ColumnSource source, StructField column, Expression stored) {
        if (source instanceof UnseenColumn) {
            return SparkProjections.constant(null, column.dataType());
        }
        List<ColumnSource> inner = ((GivenColumn) source).fields();
        if (inner != null && column.dataType() instanceof StructType type) {
            List<Expression> fields = new ArrayList<>();
            for (int i = 0; i < type.size(); i++) {
                fields.add(blank(inner.get(i), type.fields()[i], SparkProjections.field(stored, i)));
            }
            return SparkProjections.ifNull(stored, SparkProjections.constant(null, type), SparkProjections.struct(type, fields));
        }
        if (inner != null && column.dataType() instanceof ArrayType type) {
            StructField element = new StructField("element", type.elementType(), type.containsNull(), Metadata.empty());
            return SparkProjections.elements(stored, one -> blank(inner.get(0), element, one));
        }
        return stored;
    }

    private static List<String> below(List<String> path, String name) {
        return Stream.concat(path.stream(), Stream.of(name)).toList();
    }

    private static List<Expression> fieldsOf(Expression struct) {
        List<Expression> fields = new ArrayList<>();
        for (int i = 0; i < ((StructType) struct.dataType()).size(); i++) {
            fields.add(SparkProjections.field(struct, i));
        }
        return fields;
    }

    /** The stored columns. */
    StructType schema() {
        return schema;
    }

    /** The projection of one task; a row that it returns is valid until the next one. */
    Task task() {
        return new Task();
    }

    /** The compiled projections of new rows and of rows that replace others. */
    final class Task {
        private final JoinedRow joined = new JoinedRow();
        private UnaryOperator<InternalRow> inserting;
        private UnaryOperator<InternalRow> replacing;

        private Task() {}

        /** A new row. */
        InternalRow insert(InternalRow row) {
            if (inserting == null) {
                inserting = SparkProjections.compile(inserted);
            }
            return inserting.apply(row);
        }

        /** A row that replaces another, whose old values come with it. */
        InternalRow replace(InternalRow old, InternalRow row) {
            if (replacing == null) {
                replacing = SparkProjections.compile(replaced);
            }
            return replacing.apply(joined.apply(row, old));
        }
    }
}
