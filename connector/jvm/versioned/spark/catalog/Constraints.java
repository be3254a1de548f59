package versioned.spark.catalog;

import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.catalog.constraints.Constraint;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.NamedReference;
import versioned.spark.protocol.PrimaryKey;

/** Constraints as Spark's classes and as messages; Python decides which ones a table can have. */
final class Constraints {
    private Constraints() {}

    static List<versioned.spark.protocol.Constraint> of(Constraint[] constraints) {
        return Stream.of(constraints).map(Constraints::of).toList();
    }

    static versioned.spark.protocol.Constraint of(Constraint constraint) {
        List<List<String>> key = constraint instanceof org.apache.spark.sql.connector.catalog.constraints.PrimaryKey primary
            ? Stream.of(primary.columns()).map(column -> List.of(column.fieldNames())).toList() : null;
        return new versioned.spark.protocol.Constraint(constraint.toDDL(), key);
    }

    /** @param key null for a table without a primary key */
    static Constraint[] of(PrimaryKey key) {
        if (key == null) {
            return new Constraint[0];
        }
        NamedReference[] columns = key.columns().stream().map(FieldReference::column).toArray(NamedReference[]::new);
        return new Constraint[] {Constraint.primaryKey(key.name(), columns).enforced(false).rely(key.rely())
            .validationStatus(Constraint.ValidationStatus.VALID).build()};
    }
}
