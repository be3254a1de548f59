package versioned.spark.extension;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.RowLevelWrite;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import scala.jdk.javaapi.CollectionConverters;
import scala.jdk.javaapi.OptionConverters;

/** Conditions of statements, as the history shows them. */
final class Conditions {
    private static final String[] SUBQUERIES = {"listquery()", "scalarsubquery()", "exists()"};

    private Conditions() {}

    /**
     * The condition of a DELETE, UPDATE or MERGE: as it was written, if that is known, else as Spark has analysed it.
     *
     * @return its SQL; null for a condition that every row meets
     */
    static String sql(LogicalPlan plan, RowLevelWrite change) {
        Expression condition = RecordStatement.of(plan).flatMap(Conditions::written).orElse(change.condition());
        return condition.equals(Literal.TrueLiteral()) ? null : sql(condition);
    }

    private static Optional<Expression> written(LogicalPlan statement) {
        if (statement instanceof DeleteFromTable delete) {
            return Optional.of(delete.condition());
        }
        if (statement instanceof UpdateTable update) {
            return OptionConverters.toJava(update.condition());
        }
        return statement instanceof MergeIntoTable merge ? Optional.of(merge.mergeCondition()) : Optional.empty();
    }

    private static String sql(Expression condition) {
        String sql = condition.sql();
        for (Object leaf : CollectionConverters.asJava(condition.collectLeaves())) {
            if (leaf instanceof AttributeReference column && !column.qualifier().isEmpty()) {
                String table = column.qualifier().last();
                sql = sql.replace(column.sql(), column.withQualifier(CollectionConverters.asScala(List.of(table)).toList()).sql());
            }
        }
        for (String subquery : SUBQUERIES) {
            sql = sql.replace(subquery, "subquery");
        }
        return sql;
    }
}
