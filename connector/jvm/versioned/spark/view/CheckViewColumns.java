package versioned.spark.view;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.python.Python;

/**
 * Checks that the columns which a view reads are those that it is bound to. The catalog does so when the query of a view
 * asks for a table; but Spark asks once for a table that a statement names twice, outside of the view or in another one.
 */
public final class CheckViewColumns extends AbstractFunction1<LogicalPlan, BoxedUnit> {
    @Override
    public BoxedUnit apply(LogicalPlan plan) {
        ArrayNode views = Python.JSON.createArrayNode();
        add(plan, views);
        if (!views.isEmpty()) {
            Python.ask("check_views", Python.JSON.<ObjectNode>createObjectNode().set("views", views));
        }
        return BoxedUnit.UNIT;
    }

    private static void add(LogicalPlan plan, ArrayNode views) {
        for (LogicalPlan node : PlanNodes.of(plan)) {
            if (node instanceof View view) {
                addUnchecked(view, views);
                add(view.child(), views);
            }
        }
    }

    private static void addUnchecked(View view, ArrayNode views) {
        String within = Views.within(view);
        if (within == null) {
            return;
        }
        List<VersionedTable> tables = PlanNodes.of(view.child()).stream().map(CheckViewColumns::newest)
            .filter(table -> table != null && !table.isCheckedFor(within)).toList();
        if (!tables.isEmpty()) {
            ObjectNode one = views.addObject();
            one.set("within", Python.parse(within));
            ArrayNode refs = one.putArray("tables");
            tables.forEach(table -> refs.add(table.ref().json()));
        }
    }

    private static VersionedTable newest(LogicalPlan node) {
        return node instanceof DataSourceV2Relation relation && relation.table() instanceof VersionedTable table
            && !table.isPast() ? table : null;
    }
}
