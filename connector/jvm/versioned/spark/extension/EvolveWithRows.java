package versioned.spark.extension;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.catalog.EvolvingCatalog;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.catalog.VersionedTables;
import versioned.spark.internals.SparkCatalogs;
import versioned.spark.python.Condition;

/**
 * Lets MERGE and INSERT WITH SCHEMA EVOLUTION, and a DataFrame's write with the option {@code mergeSchema}, change the table
 * in the commit of their rows. Spark alters a table while it analyses the statement, even for EXPLAIN, so it gets a catalog
 * that holds the changes back. This must happen before Spark loads the table.
 */
public final class EvolveWithRows extends PlanRule {
    private static final String OPTION = "mergeSchema";

    private final SparkSession session;

    public EvolveWithRows(SparkSession session) {
        this.session = session;
    }

    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        boolean evolves = SparkCatalogs.evolvesSchema(node);
        boolean isWrite = node instanceof V2WriteCommand;
        if (!(evolves || isWrite && merges(node)) || !(node.productElement(0) instanceof LogicalPlan target)) {
            return Optional.empty();
        }
        return evolving(target, isWrite)
            .map(found -> (LogicalPlan) node.makeCopy(with(node, 0, found)))
            .map(found -> evolves ? found : asked(found));
    }

    /** Whether a DataFrame's write has the option, which the data source also has. */
    private static boolean merges(LogicalPlan write) {
        String asked = SparkCatalogs.writeOptions(write).getOrDefault(OPTION, "false");
        return switch (asked.toLowerCase(Locale.ROOT)) {
            case "true" -> true;
            case "false" -> false;
            default -> throw Condition.INVALID_OPTION.error(OPTION + " is '" + asked + "'; it must be true or false");
        };
    }

    /** The write as if it said WITH SCHEMA EVOLUTION. */
    private static LogicalPlan asked(LogicalPlan write) {
        int place = SparkCatalogs.memberNamed(write, "withSchemaEvolution").orElseThrow(() -> Condition.NOT_SUPPORTED.error(
            OPTION + " in a write to a table by its name needs Spark 4.3; write with format(\"versioned\"), "
                + "option(\"warehouse\", ...) and save(\"namespace.table\"), or ALTER TABLE ... ADD COLUMN first"));
        return (LogicalPlan) write.makeCopy(with(write, place, true));
    }

    /** @param bare whether the node takes a relation only, and no alias of one */
    private Optional<LogicalPlan> evolving(LogicalPlan target, boolean bare) {
        if (target instanceof SubqueryAlias alias) {
            return evolving(alias.child(), false).map(child -> (LogicalPlan) alias.makeCopy(with(alias, 1, child)));
        }
        if (target instanceof DataSourceV2Relation loaded && bare && loaded.table() instanceof VersionedTable
                && loaded.catalog().nonEmpty() && loaded.catalog().get() instanceof VersionedTables catalog) {
            return relationOf(catalog, loaded.identifier().get(), CaseInsensitiveStringMap.empty());
        }
        return target instanceof UnresolvedRelation relation ? resolved(relation, bare) : Optional.empty();
    }

    private Optional<LogicalPlan> resolved(UnresolvedRelation relation, boolean bare) {
        List<String> parts = CollectionConverters.asJava(relation.multipartIdentifier());
        // The options of a DataFrame's write belong to the command only.
        CaseInsensitiveStringMap options = bare ? CaseInsensitiveStringMap.empty() : relation.options();
        return VersionedTables.find(session, parts).flatMap(named -> relationOf(named.catalog(), named.ident(), options)
            .map(found -> bare ? found : SparkCatalogs.named(found, named.catalog().name(), named.ident())));
    }

    /** @return empty if there is no such table: Spark's error has the position in the statement */
    private static Optional<LogicalPlan> relationOf(VersionedTables catalog, Identifier ident,
            CaseInsensitiveStringMap options) {
        try {
            EvolvingCatalog evolving = catalog.evolving(ident);
            return Optional.of(DataSourceV2Relation.create(evolving.loadTable(ident), Option.apply(evolving),
                Option.apply(ident), options, Option.empty()));
        } catch (NoSuchTableException e) {
            return Optional.empty();
        }
    }
}
