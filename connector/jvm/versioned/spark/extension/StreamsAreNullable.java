package versioned.spark.extension;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.catalog.VersionedTable;

/** Declares the columns of a stream nullable, since one may be dropped while the stream runs. */
public final class StreamsAreNullable extends PlanRule {
    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        if (!(node instanceof StreamingRelationV2 stream && stream.table() instanceof VersionedTable)) {
            return Optional.empty();
        }
        List<AttributeReference> output = CollectionConverters.asJava(stream.output());
        List<AttributeReference> nullable = output.stream().map(StreamsAreNullable::nullable).toList();
        if (nullable.equals(output)) {
            return Optional.empty();
        }
        int place = CollectionConverters.asJava(stream.productElementNames().toList()).indexOf("output");
        return Optional.of((LogicalPlan) stream.makeCopy(
            with(stream, place, CollectionConverters.asScala(nullable).toSeq())));
    }

    private static AttributeReference nullable(AttributeReference column) {
        return new AttributeReference(column.name(),
            column.dataType().asNullable(), true, column.metadata(), column.exprId(), column.qualifier());
    }
}
