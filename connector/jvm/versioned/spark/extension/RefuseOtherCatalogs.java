package versioned.spark.extension;

import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTable;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.TableSpecBase;
import org.apache.spark.sql.internal.SQLConf;
import versioned.spark.catalog.VersionedTables;
import versioned.spark.internals.SparkCatalogs;
import versioned.spark.internals.SparkPython;
import versioned.spark.python.Condition;

/**
 * Refuses to create a table of the format {@code versioned} in a catalog of other tables, such as Spark's own: it would have a
 * name and no folder, and nobody could read or write it.
 */
public final class RefuseOtherCatalogs extends PlanRule {
    private final SparkSession session;

    public RefuseOtherCatalogs(SparkSession session) {
        this.session = session;
    }

    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        if (spec(node).filter(RefuseOtherCatalogs::isVersioned).isPresent()
                && node.productElement(0) instanceof UnresolvedIdentifier ident) {
            SparkCatalogs.find(session, ident.nameParts()).filter(found -> !(found.catalog() instanceof VersionedTables)).ifPresent(found -> {
                throw Condition.NOT_SUPPORTED.error(ident.nameParts().mkString(".") + ": the catalog " + found.catalog().name()
                    + " can't hold tables of the format versioned; write " + wayOut(ident.nameParts().last())
                    + ", or save the rows by path: df.write.format(\"versioned\").save(\"/path/of/table\")");
            });
        }
        return Optional.empty();
    }

    private static Optional<TableSpecBase> spec(LogicalPlan node) {
        return Optional.ofNullable(node instanceof CreateTable create ? create.tableSpec()
            : node instanceof CreateTableAsSelect create ? create.tableSpec()
            : node instanceof ReplaceTable replace ? replace.tableSpec()
            : node instanceof ReplaceTableAsSelect replace ? replace.tableSpec() : null);
    }

    private static boolean isVersioned(TableSpecBase spec) {
        String provider = spec.provider().isDefined() ? spec.provider().get() : SQLConf.get().defaultDataSourceName();
        return SparkPython.FORMAT.equalsIgnoreCase(provider);
    }

    /** The name in a catalog of this session that can hold the table. */
    private String wayOut(String table) {
        return SparkCatalogs.registered(session, VersionedTables.class.getPackageName().replace(".catalog", "."))
            .map(catalog -> catalog + ".<namespace>." + table)
            .orElse("<catalog>.<namespace>." + table + " in a catalog that pyspark_versioned.configure registers");
    }
}
