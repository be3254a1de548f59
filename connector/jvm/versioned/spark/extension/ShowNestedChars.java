package versioned.spark.extension;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable$;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.plans.logical.AlterColumns;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.CharType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.VarcharType;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.VersionedCatalog;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.internals.SparkCatalogs;

/**
 * Lets ALTER COLUMN change the type of a nested CHAR or VARCHAR. Spark keeps the types of whole columns only, and takes
 * a nested one for a STRING: it would leave out the change to STRING, and refuse that to a longer VARCHAR. This has to
 * happen before Spark looks the table up.
 */
public final class ShowNestedChars extends PlanRule {
    private final SparkSession session;

    public ShowNestedChars(SparkSession session) {
        this.session = session;
    }

    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        if (!(node instanceof AlterColumns alter && alter.table() instanceof UnresolvedTable table)) {
            return Optional.empty();
        }
        List<String> parts = CollectionConverters.asJava(table.multipartIdentifier());
        return SparkCatalogs.find(session, parts).filter(named -> named.catalog() instanceof VersionedCatalog)
            .flatMap(ShowNestedChars::resolved).map(found -> (LogicalPlan) alter.makeCopy(with(alter, 0, found)));
    }

    private static Optional<LogicalPlan> resolved(SparkCatalogs.Named named) {
        VersionedCatalog catalog = (VersionedCatalog) named.catalog();
        try {
            ResolvedTable table = ResolvedTable$.MODULE$.create(catalog, named.ident(), catalog.loadTable(named.ident()));
            return table.table() instanceof VersionedTable versioned
                ? Optional.of(shown(table, versioned)) : Optional.empty();
        } catch (NoSuchTableException e) {
            return Optional.empty(); // Spark says so, with the place in the statement
        }
    }

    private static ResolvedTable shown(ResolvedTable table, VersionedTable versioned) {
        List<Attribute> attributes = new ArrayList<>(CollectionConverters.asJava(table.outputAttributes()));
        for (int i = 0; i < attributes.size(); i++) {
            DataType type = versioned.columns()[i].dataType();
            if (!(type instanceof CharType || type instanceof VarcharType)) {
                Attribute old = attributes.get(i);
                attributes.set(i, new AttributeReference(old.name(), type, old.nullable(), old.metadata(), old.exprId(),
                    old.qualifier()));
            }
        }
        return table.copy(table.catalog(), table.identifier(), table.table(),
            CollectionConverters.asScala(attributes).toSeq());
    }
}
