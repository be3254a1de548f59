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
import scala.Function1;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

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
        return expression instanceof AggregateExpression || expression instanceof WindowExpression
            || CollectionConverters.asJava(expression.children()).stream().anyMatch(SparkExpressions::isOfManyRows);
    }

    /** An expression with other columns, by the IDs of its own. */
    public static Expression replaced(Expression expression, Map<ExprId, Attribute> columns) {
        return (Expression) expression.transformUp(new AbstractPartialFunction<Expression, Expression>() {
            @Override
            public boolean isDefinedAt(Expression node) {
                return true;
            }

            @Override
            public <A extends Expression, B> B applyOrElse(A node, Function1<A, B> other) {
                @SuppressWarnings("unchecked")
                B replaced = (B) (node instanceof Attribute column ? columns.getOrDefault(column.exprId(), column) : node);
                return replaced;
            }
        });
    }
}
