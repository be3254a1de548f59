package versioned.spark.extension;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.analysis.ResolvedFieldName;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.plans.logical.AlterColumnSpec;
import org.apache.spark.sql.catalyst.plans.logical.AlterColumns;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.StructField;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.catalog.VersionedTables;
import versioned.spark.internals.SparkCatalogs;

/**
 * Lets ALTER COLUMN SET NOT NULL reach the catalog, which checks the data. Spark refuses it for any nullable column, so the
 * column is replaced by one that is not nullable.
 */
public final class AllowSetNotNull extends PlanRule {
    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        if (!(node instanceof AlterColumns alter && alter.table() instanceof ResolvedTable table
                && table.catalog() instanceof VersionedTables)) {
            return Optional.empty();
        }
        List<AlterColumnSpec> specs = new ArrayList<>();
        boolean changed = false;
        for (AlterColumnSpec spec : CollectionConverters.asJava(alter.specs())) {
            changed |= isRefused(spec);
            specs.add(isRefused(spec) ? accepted(spec) : spec);
        }
        return changed
            ? Optional.of(with(alter, 1, CollectionConverters.asScala(specs).toSeq()))
            : Optional.empty();
    }

    private static boolean isRefused(AlterColumnSpec spec) {
        return spec.newNullability().contains(false) && spec.column() instanceof ResolvedFieldName found
            && found.field().nullable();
    }

    private static AlterColumnSpec accepted(AlterColumnSpec spec) {
        ResolvedFieldName found = (ResolvedFieldName) spec.column();
        StructField field = found.field();
        StructField nullFree = new StructField(field.name(), field.dataType(), false, field.metadata());
        return (AlterColumnSpec) spec.makeCopy(SparkCatalogs.members(spec, 0, found.copy(found.path(), nullFree)));
    }
}
