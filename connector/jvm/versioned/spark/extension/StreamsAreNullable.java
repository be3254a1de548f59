package versioned.spark.extension;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.connector.catalog.Table;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.catalog.VersionedChangelog;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.internals.SparkCatalogs;

/**
 * Declares the columns of a stream nullable, since one may be dropped while the stream runs. Those of a stream of changes are;
 * but Spark forgets to make strings of their CHAR and VARCHAR, as it does for tables and batches.
 */
public final class StreamsAreNullable extends PlanRule {
    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        if (!(node instanceof StreamingRelationV2 stream && isOurs(stream.table()))) {
            return Optional.empty();
        }
        List<AttributeReference> output = CollectionConverters.asJava(stream.output());
        List<AttributeReference> nullable = output.stream().map(StreamsAreNullable::nullable).toList();
        if (nullable.equals(output)) {
            return Optional.empty();
        }
        int place = SparkCatalogs.memberNamed(stream, "output").orElseThrow();
        return Optional.of(with(stream, place, CollectionConverters.asScala(nullable).toSeq()));
    }

    /** Spark's wrapper of changes is there since 4.3. */
    private static boolean isOurs(Table table) {
        return table instanceof VersionedTable || table.getClass().getSimpleName().equals("ChangelogTable")
            && VersionedChangelog.isIn(table);
    }

    private static AttributeReference nullable(AttributeReference column) {
        return new AttributeReference(column.name(),
            CharVarcharUtils.replaceCharVarcharWithString(column.dataType()).asNullable(), true,
            column.metadata(), column.exprId(), column.qualifier());
    }
}
