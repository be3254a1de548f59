package versioned.spark.extension;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.execution.datasources.ApplyCharTypePadding$;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.catalog.RowChange;
import versioned.spark.catalog.VersionedTable;

/**
 * Compares CHARs as padded values also under {@code spark.sql.legacy.charVarcharAsString}. The values of a versioned table
 * are always padded, so {@code c = 'x'} would miss them. If a statement also reads CHARs of other tables, Spark's setting
 * applies.
 */
public final class CharsAsChars extends Rule<LogicalPlan> {
    private static final String LEGACY = "spark.sql.legacy.charVarcharAsString";

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        SQLConf conf = SQLConf.get();
        if (!conf.charVarcharAsString()) {
            return plan;
        }
        List<LogicalPlan> readers = relations(plan).filter(CharsAsChars::hasChars).toList();
        if (readers.isEmpty() || !readers.stream().allMatch(CharsAsChars::isVersioned)) {
            return plan;
        }
        SQLConf strict = conf.clone();
        strict.setConfString(LEGACY, "false");
        return SQLConf$.MODULE$.withExistingConf(strict, () -> ApplyCharTypePadding$.MODULE$.apply(plan));
    }

    private static Stream<LogicalPlan> relations(LogicalPlan plan) {
        List<LogicalPlan> below = new ArrayList<>(CollectionConverters.asJava(plan.children()));
        below.addAll(CollectionConverters.asJava(plan.subqueries()));
        Stream<LogicalPlan> own = plan.children().isEmpty() ? Stream.of(plan) : Stream.empty();
        return Stream.concat(own, below.stream().flatMap(CharsAsChars::relations));
    }

    /** Spark takes the types out of the attributes of what an UPDATE or MERGE changes; the table still has them. */
    private static boolean hasChars(LogicalPlan relation) {
        if (relation instanceof DataSourceV2Relation known) {
            return Stream.of(known.table().columns()).anyMatch(column -> CharVarcharUtils.hasCharVarchar(column.dataType()));
        }
        return CollectionConverters.asJava(relation.output()).stream()
            .anyMatch(attribute -> CharVarcharUtils.getRawType(attribute.metadata()).isDefined());
    }

    private static boolean isVersioned(LogicalPlan plan) {
        return plan instanceof DataSourceV2Relation relation && (relation.table() instanceof VersionedTable
            || relation.table() instanceof RowLevelOperationTable rows && rows.operation() instanceof RowChange);
    }
}
