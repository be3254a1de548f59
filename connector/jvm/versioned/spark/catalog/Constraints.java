package versioned.spark.catalog;

import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.connector.catalog.constraints.Check;
import org.apache.spark.sql.connector.catalog.constraints.Constraint;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.internal.SQLConf;
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
        versioned.spark.protocol.Check check = constraint instanceof Check found
            ? new versioned.spark.protocol.Check(found.name(), found.predicateSql(), found.enforced()) : null;
        return new versioned.spark.protocol.Constraint(constraint.toDDL(), key, check,
            timeZone());
    }

    /** The time zone of the session. */
    static String timeZone() {
        return DateTimeUtils.getZoneId(SQLConf.get().sessionLocalTimeZone()).normalized().getId();
    }

    /** @param key null for a table without a primary key */
    static Constraint[] of(PrimaryKey key, List<versioned.spark.protocol.Check> checks) {
        Stream<Constraint> all = checks.stream().map(check -> Constraint.check(check.name()).predicateSql(check.condition())
            .enforced(true).rely(true).validationStatus(Constraint.ValidationStatus.VALID).build());
        if (key != null) {
            NamedReference[] columns = key.columns().stream().map(FieldReference::column).toArray(NamedReference[]::new);
            all = Stream.concat(Stream.of(Constraint.primaryKey(key.name(), columns).enforced(false).rely(key.rely())
                .validationStatus(Constraint.ValidationStatus.VALID).build()), all);
        }
        return all.toArray(Constraint[]::new);
    }
}
