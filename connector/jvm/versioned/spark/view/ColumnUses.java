package versioned.spark.view;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Exists;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetArrayStructFields;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.Distinct;
import org.apache.spark.sql.catalyst.plans.logical.Expand;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SetOperation;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.View;
import scala.collection.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The columns on which the result of a query depends, traced from its output to its leaves; columns of an inner
 * {@code SELECT *} that nothing uses are not among them. Of a struct, the fields that are used; an empty path is all of it.
 */
final class ColumnUses {
    private static final List<String> WHOLE = List.of();

    private final Map<Long, Set<List<String>>> uses = new HashMap<>();
    private final Map<Long, LogicalPlan> shared = new HashMap<>();
    private boolean grown;

    ColumnUses(LogicalPlan plan, List<LogicalPlan> nodes) {
        for (LogicalPlan node : nodes) {
            if (node instanceof CTERelationDef definition) {
                shared.put(definition.id(), definition.child());
            }
        }
        useAll(plan.output());
        do {
            grown = false;
            nodes.forEach(this::follow);
        } while (grown);
    }

    /** The paths below a column that the query depends on; none where it does not. */
    Set<List<String>> of(Attribute column) {
        Set<List<String>> found = of(column.exprId().id());
        return found.contains(WHOLE) ? Set.of(WHOLE) : found;
    }

    private Set<List<String>> of(long id) {
        return uses.getOrDefault(id, Set.of());
    }

    private void follow(LogicalPlan node) {
        if (node instanceof Project project) {
            computed(project.projectList());
        } else if (node instanceof Aggregate aggregate) {
            CollectionConverters.asJava(aggregate.groupingExpressions()).forEach(this::use);
            computed(aggregate.aggregateExpressions());
        } else if (node instanceof Expand expand) { // of ROLLUP and such: it repeats every column of its child
            CollectionConverters.asJava(expand.projections()).forEach(row -> passOnComputed(expand.output(), row));
        } else if (node instanceof Union union) {
            CollectionConverters.asJava(union.children()).forEach(child -> passOn(union.output(), child.output()));
        } else if (node instanceof CTERelationRef reference && shared.containsKey(reference.cteId())) {
            passOn(reference.output(), shared.get(reference.cteId()).output());
        } else if (node instanceof Distinct || node instanceof SetOperation) {
            CollectionConverters.asJava(node.children()).forEach(child -> useAll(child.output()));
        } else if (!CollectionConverters.asJava(node.children()).isEmpty() && !(node instanceof View)) {
            PlanNodes.expressions(node).forEach(this::use);
        }
    }

    private void computed(Seq<NamedExpression> columns) {
        for (NamedExpression column : CollectionConverters.asJava(columns)) {
            if (!(column instanceof Alias alias)) {
                continue; // it has the ID of what it shows
            }
            computed(alias.child(), of(alias.exprId().id()));
        }
    }

    private void computed(Expression from, Set<List<String>> wanted) {
        if (from instanceof AttributeReference same) {
            add(same, wanted);
        } else if (!wanted.isEmpty()) {
            use(from);
        }
    }

    private void passOn(Seq<Attribute> shown, Seq<Attribute> from) {
        for (int i = 0; i < shown.size(); i++) {
            add(from.apply(i), of(shown.apply(i).exprId().id()));
        }
    }

    private void passOnComputed(Seq<Attribute> shown, Seq<Expression> from) {
        for (int i = 0; i < shown.size(); i++) {
            computed(from.apply(i), of(shown.apply(i).exprId().id()));
        }
    }

    private void useAll(Seq<Attribute> columns) {
        CollectionConverters.asJava(columns).forEach(column -> add(column, Set.of(WHOLE)));
    }

    private void use(Expression expression) {
        LinkedList<String> path = new LinkedList<>();
        Expression base = expression;
        while (base instanceof GetStructField || base instanceof GetArrayStructFields) {
            if (base instanceof GetStructField field) {
                path.addFirst(field.extractFieldName());
                base = field.child();
            } else if (base instanceof GetArrayStructFields fields) {
                path.addFirst(fields.field().name());
                path.addFirst("element");
                base = fields.child();
            }
        }
        if (base instanceof AttributeReference column) {
            add(column, Set.of(List.copyOf(path)));
            return;
        }
        if (base instanceof SubqueryExpression subquery && !(base instanceof Exists)) {
            useAll(subquery.plan().output());
        }
        CollectionConverters.asJava(base.children()).forEach(this::use);
    }

    private void add(Attribute column, Set<List<String>> paths) {
        // A copy: the paths may be those of the column itself.
        grown |= uses.computeIfAbsent(column.exprId().id(), id -> new LinkedHashSet<>()).addAll(new ArrayList<>(paths));
    }
}
