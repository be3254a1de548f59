package versioned.spark.extension;

import java.util.Locale;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import versioned.spark.catalog.EvolvingCatalog;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.catalog.VersionedTables;
import versioned.spark.internals.SparkCatalogs;
import versioned.spark.python.Condition;
import versioned.spark.python.SchemaOptions;

/**
 * Lets MERGE and INSERT WITH SCHEMA EVOLUTION, a DataFrame's write with the option {@code mergeSchema}, and all writes by
 * name to a table with the property {@code schema_mode=live} change the table in the commit of their rows. Spark alters a table while it analyses the statement, even for EXPLAIN, so it gets a catalog
 * that holds the changes back. This must happen before Spark loads the table.
 */
public final class EvolveWithRows extends PlanRule {
    private static final String OPTION = "mergeSchema";
    private static final String SCHEMA_MODE = "schema_mode";
    private static final String LIVE = "live";
    private static final String MERGES_ALL = "spark.databricks.delta.schema.autoMerge.enabled";

    private final SparkSession session;

    public EvolveWithRows(SparkSession session) {
        this.session = session;
    }

    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        boolean evolves = SparkCatalogs.evolvesSchema(node);
        boolean isWrite = node instanceof V2WriteCommand;
        Optional<Boolean> option = isWrite ? mergesSchema(node) : Optional.empty();
        boolean asks = evolves || option.orElse(false);
        if (!(asks || option.isEmpty() && matchesByName(node)) || !(node.productElement(0) instanceof LogicalPlan target)) {
            return Optional.empty();
        }
        return evolving(target, isWrite, !asks)
            .map(found -> with(node, 0, found))
            .map(found -> evolves ? found : asked(found));
    }

    /** What a DataFrame's write says with the option, which the data source also has; empty to go by the table's property. */
    private static Optional<Boolean> mergesSchema(LogicalPlan write) {
        CaseInsensitiveStringMap options = SparkCatalogs.writeOptions(write);
        if (!options.containsKey(OPTION)) {
            return Optional.empty();
        }
        String asked = options.get(OPTION);
        return switch (asked.toLowerCase(Locale.ROOT)) {
            case "true" -> Optional.of(true);
            case "false" -> Optional.of(false);
            default -> throw Condition.INVALID_OPTION.error(OPTION + " is '" + asked + "'; it must be true or false");
        };
    }

    /**
     * Whether a statement names the columns that it writes, and this release of Spark can let it change the schema. An INSERT
     * that matches columns by position has no names for new ones.
     */
    private static boolean matchesByName(LogicalPlan node) {
        if (SparkCatalogs.memberNamed(node, "withSchemaEvolution").isEmpty()) {
            return false;
        }
        return node instanceof InsertIntoStatement insert && insert.byName()
            || node instanceof V2WriteCommand write && write.isByName()
            || node instanceof MergeIntoTable;
    }

    /** The write as if it said WITH SCHEMA EVOLUTION. */
    private static LogicalPlan asked(LogicalPlan write) {
        int place = SparkCatalogs.memberNamed(write, "withSchemaEvolution").orElseThrow(() -> Condition.NOT_SUPPORTED.error(
            OPTION + " in a write to a table by its name needs Spark 4.3; write with format(\"versioned\"), "
                + "option(\"warehouse\", ...) and save(\"namespace.table\"), or ALTER TABLE ... ADD COLUMN first"));
        return with(write, place, true);
    }

    /**
     * @param bare whether the node takes a relation only, and no alias of one
     * @param onlyLive whether the table must have the property {@code schema_mode=live}
     */
    private Optional<LogicalPlan> evolving(LogicalPlan target, boolean bare, boolean onlyLive) {
        if (target instanceof SubqueryAlias alias) {
            return evolving(alias.child(), false, onlyLive).map(child -> with(alias, 1, child));
        }
        if (target instanceof DataSourceV2Relation loaded && bare && loaded.table() instanceof VersionedTable
                && loaded.catalog().nonEmpty() && loaded.catalog().get() instanceof VersionedTables catalog) {
            return onlyLive && !isLive(loaded.table(), loaded.options()) ? Optional.empty()
                : relationOf(catalog, loaded.identifier().get(), CaseInsensitiveStringMap.empty(), onlyLive);
        }
        return target instanceof UnresolvedRelation relation ? resolved(relation, bare, onlyLive) : Optional.empty();
    }

    private Optional<LogicalPlan> resolved(UnresolvedRelation relation, boolean bare, boolean onlyLive) {
        // The options of a DataFrame's write belong to the command only.
        CaseInsensitiveStringMap options = bare ? CaseInsensitiveStringMap.empty() : relation.options();
        if (onlyLive && relation.options().containsKey(SchemaOptions.SCHEMA_VERSION)) {
            return Optional.empty();
        }
        return VersionedTables.find(session, relation.multipartIdentifier())
            .flatMap(named -> relationOf(named.catalog(), named.ident(), options, onlyLive)
            .map(found -> bare ? found : SparkCatalogs.named(found, named.catalog().name(), named.ident())));
    }

    /** Whether all tables are live in the session, by Delta's setting. */
    private static boolean mergesAll() {
        return "true".equalsIgnoreCase(SQLConf.get().getConfString(MERGES_ALL, "false").trim());
    }

    /** Whether the table is live, and is seen in its current schema: nobody changes the schema through a pin. */
    private static boolean isLive(Table table, CaseInsensitiveStringMap options) {
        return (mergesAll() || LIVE.equals(table.properties().get(SCHEMA_MODE))) && !options.containsKey(SchemaOptions.SCHEMA_VERSION)
            && table instanceof VersionedTable versioned && versioned.ref().seen() == null;
    }

    /** @return empty if there is no such table, for which Spark's error has the position in the statement, or it is not live */
    private static Optional<LogicalPlan> relationOf(VersionedTables catalog, Identifier ident,
            CaseInsensitiveStringMap options, boolean onlyLive) {
        try {
            if (onlyLive && !isLive(catalog.requests().loadToWrite(ident, CaseInsensitiveStringMap.empty()), options)) {
                return Optional.empty();
            }
            EvolvingCatalog evolving = catalog.evolving(ident);
            return Optional.of(DataSourceV2Relation.create(evolving.loadTable(ident), Option.apply(evolving),
                Option.apply(ident), options, Option.empty()));
        } catch (NoSuchTableException e) {
            return Optional.empty();
        }
    }
}
