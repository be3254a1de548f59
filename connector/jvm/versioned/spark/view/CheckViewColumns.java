package versioned.spark.view;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.protocol.CheckViews;
import versioned.spark.protocol.ViewTables;
import versioned.spark.python.Python;

/**
 * Checks that a view reads the columns that it is bound to. The catalog checks this when the query of a view loads a table;
 * but Spark loads a table once if a statement names it twice, outside of the view or in another one.
 */
public final class CheckViewColumns extends AbstractFunction1<LogicalPlan, BoxedUnit> {
    @Override
    public BoxedUnit apply(LogicalPlan plan) {
        List<ViewTables> views = new ArrayList<>();
        add(plan, views);
        if (!views.isEmpty()) {
            Python.send(new CheckViews(views));
        }
        return BoxedUnit.UNIT;
    }

    private static void add(LogicalPlan plan, List<ViewTables> views) {
        for (LogicalPlan node : PlanNodes.of(plan)) {
            if (node instanceof View view) {
                addUnchecked(view, views);
                add(view.child(), views);
            }
        }
    }

    private static void addUnchecked(View view, List<ViewTables> views) {
        String within = Views.within(view);
        if (within == null) {
            return;
        }
        List<VersionedTable> tables = PlanNodes.of(view.child()).stream().map(CheckViewColumns::newest)
            .filter(table -> table != null && !table.isCheckedFor(within)).toList();
        if (!tables.isEmpty()) {
            views.add(new ViewTables(within, tables.stream().map(VersionedTable::ref).toList()));
        }
    }

    private static VersionedTable newest(LogicalPlan node) {
        return node instanceof DataSourceV2Relation relation && relation.table() instanceof VersionedTable table
            && !table.isPast() ? table : null;
    }
}
