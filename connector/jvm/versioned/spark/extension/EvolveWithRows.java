package versioned.spark.extension;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.VersionedCatalog;
import versioned.spark.catalog.EvolvingCatalog;
import versioned.spark.internals.SparkCatalogs;

/**
 * Lets MERGE and INSERT WITH SCHEMA EVOLUTION change the table in the commit of their rows. Spark alters a table while
 * it analyses the statement, even for EXPLAIN, and before anything can fail; so it is given a catalog that holds the
 * changes back. This has to happen before Spark looks the table up.
 */
public final class EvolveWithRows extends PlanRule {
    private final SparkSession session;

    public EvolveWithRows(SparkSession session) {
        this.session = session;
    }

    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        if (!SparkCatalogs.evolvesSchema(node) || !(node.productElement(0) instanceof LogicalPlan target)) {
            return Optional.empty();
        }
        return evolving(target, node instanceof V2WriteCommand)
            .map(found -> (LogicalPlan) node.makeCopy(with(node, 0, found)));
    }

    /** @param bare whether the node takes a relation only, and no alias of one */
    private Optional<LogicalPlan> evolving(LogicalPlan target, boolean bare) {
        if (target instanceof SubqueryAlias alias) {
            return evolving(alias.child(), false).map(child -> (LogicalPlan) alias.makeCopy(with(alias, 1, child)));
        }
        return target instanceof UnresolvedRelation relation ? resolved(relation, bare) : Optional.empty();
    }

    private Optional<LogicalPlan> resolved(UnresolvedRelation relation, boolean bare) {
        List<String> parts = CollectionConverters.asJava(relation.multipartIdentifier());
        Optional<SparkCatalogs.Named> named = SparkCatalogs.find(session, parts);
        if (named.isEmpty() || !(named.get().catalog() instanceof VersionedCatalog catalog)) {
            return Optional.empty();
        }
        try {
            return Optional.of(relationOf(catalog, named.get().ident(), relation, bare));
        } catch (NoSuchTableException e) {
            return Optional.empty(); // Spark says so, with the place in the statement
        }
    }

    private static LogicalPlan relationOf(VersionedCatalog catalog, Identifier ident, UnresolvedRelation given,
            boolean bare) throws NoSuchTableException {
        EvolvingCatalog evolving = catalog.evolving(ident);
        DataSourceV2Relation relation = DataSourceV2Relation.create(evolving.loadTable(ident), Option.apply(evolving),
            Option.apply(ident), given.options(), Option.empty());
        return bare ? relation : SparkCatalogs.named(relation, catalog.name(), ident);
    }
}
