package versioned.spark.extension;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.analysis.ResolvedFieldName;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.plans.logical.AlterColumnSpec;
import org.apache.spark.sql.catalyst.plans.logical.AlterColumns;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.VarcharType;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.catalog.VersionedTables;
import versioned.spark.internals.SparkCatalogs;

/**
 * Lets changes reach the catalog that it allows if the stored values do: SET NOT NULL, and a narrower TYPE. Spark refuses them
 * by the column alone, so the column is replaced by one that is not nullable already, or of the type VOID, which any type may
 * follow. (Spark drops a change to the type that the column has.)
 */
public final class AllowCheckedChanges extends PlanRule {
    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        if (!(node instanceof AlterColumns alter && alter.table() instanceof ResolvedTable table
                && table.catalog() instanceof VersionedTables)) {
            return Optional.empty();
        }
        List<AlterColumnSpec> specs = new ArrayList<>();
        boolean changed = false;
        for (AlterColumnSpec spec : CollectionConverters.asJava(alter.specs())) {
            boolean isRefused = forbidsNulls(spec) || narrows(spec);
            changed |= isRefused;
            specs.add(isRefused ? accepted(spec) : spec);
        }
        return changed
            ? Optional.of(with(alter, 1, CollectionConverters.asScala(specs).toSeq()))
            : Optional.empty();
    }

    private static boolean forbidsNulls(AlterColumnSpec spec) {
        return spec.newNullability().contains(false) && spec.column() instanceof ResolvedFieldName found
            && found.field().nullable();
    }

    private static boolean narrows(AlterColumnSpec spec) {
        if (spec.newDataType().isEmpty() || !(spec.column() instanceof ResolvedFieldName found)) {
            return false;
        }
        DataType old = found.field().dataType();
        DataType type = spec.newDataType().get();
        if (old.equals(type) || old instanceof NullType) {
            return false;
        }
        return old instanceof StringType ? type instanceof VarcharType : Cast.canUpCast(type, old) && !Cast.canUpCast(old, type);
    }

    private static AlterColumnSpec accepted(AlterColumnSpec spec) {
        ResolvedFieldName found = (ResolvedFieldName) spec.column();
        StructField field = found.field();
        boolean isNarrower = narrows(spec);
        StructField fitting = new StructField(field.name(), isNarrower ? DataTypes.NullType : field.dataType(),
            field.nullable() && !forbidsNulls(spec), isNarrower ? Metadata.empty() : field.metadata());
        return (AlterColumnSpec) spec.makeCopy(SparkCatalogs.members(spec, 0, found.copy(found.path(), fitting)));
    }
}
