package versioned.spark.extension;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.internals.SparkCatalogs;
import versioned.spark.internals.SparkExpressions;
import versioned.spark.python.Condition;
import versioned.spark.python.TableOptions;

/**
 * Has the rows of a write with the option {@code replaceWhere} checked as they are written: one that does not match would be
 * added beside rows that are not replaced. Runs when Spark has cast the rows to the columns of the table.
 */
public final class CheckReplacedRows extends PlanRule {
    /** Delta's setting of a session whose rows need not match. */
    private static final String CHECKS = "spark.databricks.delta.replaceWhere.constraintCheck.enabled";

    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        if (!(node instanceof OverwriteByExpression write && write.resolved())) {
            return Optional.empty();
        }
        CaseInsensitiveStringMap options = SparkCatalogs.writeOptions(node);
        String text = options.get(Overwrites.CONDITION);
        if (text == null) {
            return Optional.empty();
        }
        refuseUnlessOfOneRow(write, text);
        LogicalPlan rows = checked(write.query(), onRows(write), text, write.table().name());
        return Optional.of(SparkCatalogs.withWriteOptions((LogicalPlan) write.withNewQuery(rows),
            TableOptions.without(options, Set.of(Overwrites.CONDITION))));
    }

    private static void refuseUnlessOfOneRow(OverwriteByExpression write, String text) {
        Expression condition = write.deleteExpr();
        if (condition.dataType() != DataTypes.BooleanType || !condition.deterministic() || SparkExpressions.isOfManyRows(condition)) {
            throw Condition.INVALID_OPTION.error(write.table().name() + ": replaceWhere is '" + text + "'; it must be a condition on "
                + "the columns of one row");
        }
    }

    /** Rows that fail to be read if one of them does not match a condition, unless the session wants them as they are. */
    static LogicalPlan checked(LogicalPlan rows, Expression condition, String text, String table) {
        if ("false".equalsIgnoreCase(SQLConf.get().getConfString(CHECKS, "true").trim())) {
            return rows;
        }
        Expression matches = new Coalesce(CollectionConverters.asScala(List.of(condition, (Expression) Literal.FalseLiteral())).toSeq());
        String message = table + ": a row to write does not match replaceWhere (" + text + "), so it would be added beside rows "
            + "that are not replaced; nothing was changed. Filter the rows by that condition, or "
            + "widen the condition";
        return new Filter(new If(matches, Literal.TrueLiteral(), SparkExpressions.error(message)), rows);
    }

    /** The condition on columns of the table as one on the columns of the rows. */
    private static Expression onRows(OverwriteByExpression write) {
        List<Attribute> columns = CollectionConverters.asJava(((LogicalPlan) write.table()).output());
        List<Attribute> given = CollectionConverters.asJava(write.query().output());
        Map<ExprId, Attribute> byId = new HashMap<>();
        for (int i = 0; i < columns.size(); i++) {
            byId.put(columns.get(i).exprId(), given.get(i));
        }
        return SparkExpressions.replaced(write.deleteExpr(), byId);
    }
}
