package versioned.spark.extension;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.ResolvedFieldName;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFieldName;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTable;
import org.apache.spark.sql.catalyst.plans.logical.AlterColumnSpec;
import org.apache.spark.sql.catalyst.plans.logical.AlterColumns;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.catalog.VersionedTables;
import versioned.spark.internals.SparkCatalogs;

/**
 * Lets ALTER COLUMN change the type of a nested CHAR or VARCHAR. Spark takes a nested one for a STRING: it would leave out
 * the change to STRING, and refuse the change to a longer VARCHAR. This must happen before Spark resolves names.
 */
public final class ResolveNestedChars extends PlanRule {
    private final SparkSession session;

    public ResolveNestedChars(SparkSession session) {
        this.session = session;
    }

    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        if (!(node instanceof AlterColumns alter && alter.table() instanceof UnresolvedTable table
                && CollectionConverters.asJava(alter.specs()).stream().anyMatch(spec -> !nested(spec).isEmpty()))) {
            return Optional.empty();
        }
        return VersionedTables.find(session, table.multipartIdentifier()).flatMap(VersionedTables.Named::load)
            .map(loaded -> with(alter, 1, resolved(alter, loaded.schema())));
    }

    /** The path of a nested column that is given a type, or nothing. */
    private static List<String> nested(AlterColumnSpec spec) {
        boolean asked = spec.newDataType().isDefined() && spec.column() instanceof UnresolvedFieldName
            && spec.column().name().size() > 1;
        return asked ? CollectionConverters.asJava(spec.column().name()) : List.of();
    }

    private static Object resolved(AlterColumns alter, StructType schema) {
        List<AlterColumnSpec> specs = new ArrayList<>();
        for (AlterColumnSpec spec : CollectionConverters.asJava(alter.specs())) {
            List<String> path = nested(spec);
            specs.add(path.isEmpty() ? spec : SparkCatalogs.field(schema, path, ((UnresolvedFieldName) spec.column()).origin())
                .map(field -> resolved(spec, field._1(), field._2())).orElse(spec));
        }
        return CollectionConverters.asScala(specs).toSeq();
    }

    private static AlterColumnSpec resolved(AlterColumnSpec spec, Seq<String> above, StructField field) {
        StructField plain = CharVarcharUtils.replaceCharVarcharWithStringInSchema(new StructType().add(field)).apply(0);
        return (AlterColumnSpec) spec.makeCopy(SparkCatalogs.members(spec, 0, new ResolvedFieldName(above, plain)));
    }
}
