package versioned.spark.internals;

import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.RaiseError;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.types.DataTypes;

/** Spark's expressions. */
public final class SparkExpressions {
    private SparkExpressions() {}

    /** An expression of type BOOLEAN that fails. */
    public static Expression error(String message) {
        return new RaiseError(Literal.create("USER_RAISED_EXCEPTION", DataTypes.StringType),
            Literal.create(SparkCatalogs.asScala(Map.of("errorMessage", message)), DataTypes.createMapType(DataTypes.StringType, DataTypes.StringType)),
            DataTypes.BooleanType);
    }

    /** Whether it needs more than one row: an aggregate, or a function over a window. */
    public static boolean isOfManyRows(Expression expression) {
        return expression.exists(node -> node instanceof AggregateExpression || node instanceof WindowExpression);
    }

    /** An expression with other columns, by the IDs of its own. */
    public static Expression replaced(Expression expression, Map<ExprId, Attribute> columns) {
        return expression instanceof Attribute column ? columns.getOrDefault(column.exprId(), column)
            : (Expression) expression.mapChildren(child -> replaced((Expression) child, columns));
    }
}
