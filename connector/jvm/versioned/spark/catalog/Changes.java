package versioned.spark.catalog;

import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import versioned.spark.internals.SparkCatalogs;
import versioned.spark.protocol.*;

/** The changes of ALTER TABLE as messages; Python decides what they mean and whether they are allowed. */
public final class Changes {
    private Changes() {}

    /** @param schema the table's, to find the type of a column that gets a default */
    public static List<Change> of(TableChange[] changes, StructType schema) {
        return Stream.of(changes).map(change -> of(change, schema)).toList();
    }

    static Change of(TableChange change, StructType schema) {
        if (change instanceof TableChange.ColumnChange column) {
            return ofColumn(column, List.of(column.fieldNames()), schema);
        } else if (change instanceof TableChange.SetProperty set) {
            return new SetProperty(set.property(), set.value());
        } else if (change instanceof TableChange.RemoveProperty remove) {
            return new UnsetProperty(remove.property());
        } else if (change instanceof TableChange.AddConstraint add) {
            return new AddConstraint(Constraints.of(add.constraint()));
        } else if (change instanceof TableChange.DropConstraint drop) {
            return new DropConstraint(drop.name(), drop.ifExists());
        }
        return change instanceof TableChange.ClusterBy clustering
            ? new ClusterBy(Stream.of(clustering.clusteringColumns()).map(column -> List.of(column.fieldNames())).toList())
            : new OtherChange(change.getClass().getSimpleName());
    }

    private static Change ofColumn(TableChange.ColumnChange change, List<String> path, StructType schema) {
        if (change instanceof TableChange.AddColumn add) {
            Default value = add.defaultValue() == null ? null
                : Columns.defaultOf(String.join(".", path), add.dataType(), add.defaultValue().getSql());
            return new AddColumn(path, add.dataType(), add.isNullable(), add.comment(), value, isFirst(add.position()),
                after(add.position()));
        } else if (change instanceof TableChange.DeleteColumn drop) {
            return new DropColumn(path, Boolean.TRUE.equals(drop.ifExists()));
        } else if (change instanceof TableChange.RenameColumn rename) {
            return new RenameColumn(path, rename.newName());
        } else if (change instanceof TableChange.UpdateColumnType retype) {
            return new ChangeType(path, retype.newDataType());
        } else if (change instanceof TableChange.UpdateColumnNullability nullability) {
            return new SetNullable(path, nullability.nullable());
        } else if (change instanceof TableChange.UpdateColumnComment comment) {
            return new SetComment(path, comment.newComment());
        } else if (change instanceof TableChange.UpdateColumnPosition move) {
            return new MoveColumn(path, isFirst(move.position()), after(move.position()));
        } else if (change instanceof TableChange.UpdateColumnDefaultValue value) {
            return ofDefault(value.newDefaultValue(), path, schema);
        }
        return new OtherChange(change.getClass().getSimpleName());
    }

    private static boolean isFirst(TableChange.ColumnPosition position) {
        return position instanceof TableChange.First;
    }

    private static String after(TableChange.ColumnPosition position) {
        return position instanceof TableChange.After after ? after.column() : null;
    }

    private static Change ofDefault(String sql, List<String> path, StructType schema) {
        if (sql == null || sql.isEmpty()) {
            return new DropDefault(path);
        }
        DataType type = SparkCatalogs.field(schema, path, CurrentOrigin.get()).map(field -> field._2().dataType()).orElse(null);
        return new SetDefault(path, Columns.defaultOf(String.join(".", path), type, sql));
    }
}
