package versioned.spark.extension;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.ResolvedFieldName;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFieldName;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTable;
import org.apache.spark.sql.catalyst.plans.logical.AlterColumnSpec;
import org.apache.spark.sql.catalyst.plans.logical.AlterColumns;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.VersionedCatalog;
import versioned.spark.catalog.NestedField;
import versioned.spark.internals.SparkCatalogs;

/**
 * Lets ALTER COLUMN change the type of a nested CHAR or VARCHAR. Spark knows the types of whole columns only, and takes
 * a nested one for a STRING: it would leave out the change to STRING, and refuse that to a longer VARCHAR. This has to
 * happen before Spark resolves names.
 */
public final class ShowNestedChars extends PlanRule {
    private final SparkSession session;

    public ShowNestedChars(SparkSession session) {
        this.session = session;
    }

    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        if (!(node instanceof AlterColumns alter && alter.table() instanceof UnresolvedTable table
                && CollectionConverters.asJava(alter.specs()).stream().anyMatch(spec -> !nested(spec).isEmpty()))) {
            return Optional.empty();
        }
        List<String> parts = CollectionConverters.asJava(table.multipartIdentifier());
        return SparkCatalogs.find(session, parts).flatMap(ShowNestedChars::schema)
            .map(schema -> (LogicalPlan) alter.makeCopy(with(alter, 1, shown(alter, schema))));
    }

    /** The path of a nested column that is given a type, or nothing. */
    private static List<String> nested(AlterColumnSpec spec) {
        boolean asked = spec.newDataType().isDefined() && spec.column() instanceof UnresolvedFieldName
            && spec.column().name().size() > 1;
        return asked ? CollectionConverters.asJava(spec.column().name()) : List.of();
    }

    private static Optional<StructType> schema(SparkCatalogs.Named named) {
        try {
            return named.catalog() instanceof VersionedCatalog catalog
                ? Optional.of(catalog.loadTable(named.ident()).schema()) : Optional.empty();
        } catch (NoSuchTableException e) {
            return Optional.empty(); // Spark says so, with the place in the statement
        }
    }

    private static Object shown(AlterColumns alter, StructType schema) {
        List<AlterColumnSpec> specs = new ArrayList<>();
        for (AlterColumnSpec spec : CollectionConverters.asJava(alter.specs())) {
            specs.add(NestedField.find(schema, nested(spec)).map(found -> resolved(spec, found)).orElse(spec));
        }
        return CollectionConverters.asScala(specs).toSeq();
    }

    private static AlterColumnSpec resolved(AlterColumnSpec spec, NestedField found) {
        StructField told = CharVarcharUtils.replaceCharVarcharWithStringInSchema(new StructType().add(found.field()))
            .apply(0);
        ResolvedFieldName name = new ResolvedFieldName(CollectionConverters.asScala(found.above()).toSeq(), told);
        return (AlterColumnSpec) spec.makeCopy(with(spec, 0, name));
    }
}
