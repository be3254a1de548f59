package versioned.spark.extension;

import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.internals.SparkPython;
import versioned.spark.protocol.LoadFormat;
import versioned.spark.python.PathOptions;
import versioned.spark.python.Python;
import versioned.spark.python.TableOptions;

/** The native rewrite rule: {@code spark.read.format("versioned")}, a Python data source, becomes a native read. */
public final class ReadNatively extends PlanRule {
    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        if (node instanceof DataSourceV2Relation relation && SparkPython.isSource(relation.table())
                && !TableOptions.isPython(relation.options()) && !relation.options().containsKey(TableOptions.BOX)) {
            return nativeRelation(relation);
        }
        return Optional.empty();
    }

    private static Optional<LogicalPlan> nativeRelation(DataSourceV2Relation relation) {
        VersionedTable table = load(relation.options());
        // The table may have changed since Spark took the schema from the data source.
        if (!namesOf(table).containsAll(wanted(relation))) {
            return Optional.empty();
        }
        return Optional.of(relation.copy(table, relation.output(), relation.catalog(), relation.identifier(),
            relation.options(), relation.timeTravelSpec()));
    }

    private static VersionedTable load(CaseInsensitiveStringMap options) {
        return VersionedTable.readAtPath(Python.send(new LoadFormat(PathOptions.withInstant(options).asCaseSensitiveMap())));
    }

    private static Set<String> namesOf(VersionedTable table) {
        return Stream.concat(Stream.of(table.columns()).map(Column::name),
            Stream.of(table.metadataColumns()).map(MetadataColumn::name))
            .map(String::toLowerCase).collect(Collectors.toSet());
    }

    private static Set<String> wanted(DataSourceV2Relation relation) {
        return CollectionConverters.asJava(relation.output()).stream()
            .map(AttributeReference::name).map(String::toLowerCase).collect(Collectors.toSet());
    }
}
