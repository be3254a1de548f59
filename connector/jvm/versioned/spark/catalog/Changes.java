package versioned.spark.catalog;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import versioned.spark.python.Python;
import versioned.spark.python.Values;

/** The changes of an ALTER TABLE as JSON; what they mean, and whether they may be, Python knows. */
final class Changes {
    private Changes() {}

    /** @param schema the table's, to find the type of a column that is given a default */
    static ArrayNode json(TableChange[] changes, StructType schema) {
        ArrayNode json = Python.JSON.createArrayNode();
        for (TableChange change : changes) {
            ObjectNode one = json.addObject();
            if (change instanceof TableChange.ColumnChange column) {
                one.set("path", Python.JSON.valueToTree(column.fieldNames()));
                describeColumn(one, column, schema);
            } else if (change instanceof TableChange.SetProperty set) {
                one.put("kind", "set_property").put("key", set.property()).put("value", set.value());
            } else if (change instanceof TableChange.RemoveProperty remove) {
                one.put("kind", "unset_property").put("key", remove.property());
            } else if (change instanceof TableChange.AddConstraint add) {
                one.put("kind", "add_constraint").set("constraint", Constraints.json(add.constraint()));
            } else if (change instanceof TableChange.DropConstraint drop) {
                one.put("kind", "drop_constraint").put("name", drop.name());
            } else {
                one.put("kind", change.getClass().getSimpleName());
            }
        }
        return json;
    }

    private static void describeColumn(ObjectNode one, TableChange.ColumnChange change, StructType schema) {
        if (change instanceof TableChange.AddColumn add) {
            describeAdd(one, add);
        } else if (change instanceof TableChange.DeleteColumn drop) {
            one.put("kind", "drop_column").put("if_exists", Boolean.TRUE.equals(drop.ifExists()));
        } else if (change instanceof TableChange.RenameColumn rename) {
            one.put("kind", "rename_column").put("new_name", rename.newName());
        } else if (change instanceof TableChange.UpdateColumnType retype) {
            one.put("kind", "change_type").set("type", Values.type(retype.newDataType()));
        } else if (change instanceof TableChange.UpdateColumnNullability nullability) {
            one.put("kind", "set_nullable").put("nullable", nullability.nullable());
        } else if (change instanceof TableChange.UpdateColumnComment comment) {
            one.put("kind", "set_comment").put("comment", comment.newComment());
        } else if (change instanceof TableChange.UpdateColumnPosition move) {
            one.put("kind", "move_column");
            describePosition(one, move.position());
        } else if (change instanceof TableChange.UpdateColumnDefaultValue value) {
            describeDefault(one, value, schema);
        } else {
            one.put("kind", change.getClass().getSimpleName());
        }
    }

    private static void describeAdd(ObjectNode one, TableChange.AddColumn add) {
        one.put("kind", "add_column").put("nullable", add.isNullable()).put("comment", add.comment());
        one.set("type", Values.type(add.dataType()));
        if (add.defaultValue() != null) {
            String name = String.join(".", add.fieldNames());
            one.set("default", Columns.defaultOf(name, add.dataType(), add.defaultValue().getSql()));
        }
        describePosition(one, add.position());
    }

    private static void describePosition(ObjectNode one, TableChange.ColumnPosition position) {
        one.put("first", position instanceof TableChange.First);
        if (position instanceof TableChange.After after) {
            one.put("after", after.column());
        }
    }

    private static void describeDefault(ObjectNode one, TableChange.UpdateColumnDefaultValue change,
            StructType schema) {
        String sql = change.newDefaultValue();
        if (sql == null || sql.isEmpty()) {
            one.put("kind", "drop_default");
            return;
        }
        DataType type = NestedField.find(schema, List.of(change.fieldNames()))
            .map(found -> found.field().dataType()).orElse(null);
        one.put("kind", "set_default")
            .set("default", Columns.defaultOf(String.join(".", change.fieldNames()), type, sql));
    }
}
