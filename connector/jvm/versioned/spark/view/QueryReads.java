package versioned.spark.view;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.internals.SparkStatements;
import versioned.spark.protocol.ReadColumns;
import versioned.spark.protocol.ViewReads;

/** The tables, columns and views that a view's query reads, from its analysed plan. */
public final class QueryReads {
    private final List<ReadColumns> tables = new ArrayList<>();
    private final List<List<String>> views = new ArrayList<>();

    private QueryReads() {}

    /** @param query in the current catalog and namespace of the session, as the query of CREATE VIEW is */
    public static ViewReads of(String query) {
        LogicalPlan plan = SparkStatements.analyzed(SparkSession.active(), query);
        List<LogicalPlan> nodes = PlanNodes.of(plan);
        ColumnUses uses = new ColumnUses(plan, nodes);
        QueryReads reads = new QueryReads();
        nodes.forEach(node -> reads.add(node, uses));
        return new ViewReads(reads.tables, reads.views);
    }

    private void add(LogicalPlan node, ColumnUses uses) {
        if (node instanceof View view) {
            views.add(CollectionConverters.asJava(view.desc().fullIdent()));
        } else if (node instanceof DataSourceV2Relation relation && relation.table() instanceof VersionedTable table
                && !table.isPast()) {
            tables.add(new ReadColumns(table.ref(), new ArrayList<>(paths(relation, uses))));
        }
    }

    private static Set<List<String>> paths(DataSourceV2Relation relation, ColumnUses uses) {
        Set<List<String>> paths = new LinkedHashSet<>();
        for (Attribute column : CollectionConverters.asJava(relation.output())) {
            for (List<String> below : uses.of(column)) {
                List<String> path = new ArrayList<>(List.of(column.name()));
                path.addAll(below);
                paths.add(path);
            }
        }
        return paths;
    }
}
