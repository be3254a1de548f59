package versioned.spark.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import org.apache.spark.sql.types.DataType;

/** Schema changes. See {@code connector/PROTOCOL.md}. */
public interface ChangeMessages {
    record TypedValue(DataType type, JsonNode value) {}

    record Default(String sql, List<String> changing, boolean oneFunction, @Nullable TypedValue literal) {}

    record Constraint(String ddl, @Nullable List<List<String>> primaryKey) {}

    /** One change of ALTER TABLE. */
    sealed interface Change extends Variant permits
            AddColumn, DropColumn, RenameColumn, ChangeType, MoveColumn, SetNullable, SetComment,
            SetDefault, DropDefault, SetProperty, UnsetProperty, AddConstraint, DropConstraint, OtherChange {}

    record AddColumn(List<String> path, DataType type, boolean nullable, @Nullable String comment,
            @Nullable Default defaultValue, boolean first, @Nullable String after) implements Change {}

    record DropColumn(List<String> path, boolean ifExists) implements Change {}

    record RenameColumn(List<String> path, String newName) implements Change {}

    record ChangeType(List<String> path, DataType type) implements Change {}

    record MoveColumn(List<String> path, boolean first, @Nullable String after) implements Change {}

    record SetNullable(List<String> path, boolean nullable) implements Change {}

    record SetComment(List<String> path, @Nullable String comment) implements Change {}

    record SetDefault(List<String> path, Default defaultValue) implements Change {}

    record DropDefault(List<String> path) implements Change {}

    record SetProperty(String key, String value) implements Change {}

    record UnsetProperty(String key) implements Change {}

    record AddConstraint(Constraint constraint) implements Change {}

    record DropConstraint(String name) implements Change {}

    record OtherChange(String name) implements Change {}
}
