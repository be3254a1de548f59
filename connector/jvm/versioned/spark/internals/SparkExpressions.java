package versioned.spark.internals;

import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedExtractValue;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.CheckInvariant;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.RaiseError;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/** Spark's expressions. */
public final class SparkExpressions {
    private SparkExpressions() {}

    /** An expression of type BOOLEAN that fails. */
    public static Expression error(String message) {
        return new RaiseError(Literal.create("USER_RAISED_EXCEPTION", DataTypes.StringType),
            Literal.create(SparkCatalogs.asScala(Map.of("errorMessage", message)), DataTypes.createMapType(DataTypes.StringType, DataTypes.StringType)),
            DataTypes.BooleanType);
    }

    /** Whether a condition checks a constraint of a table that is written to. */
    public static boolean checksConstraint(Expression condition) {
        return condition.exists(part -> part instanceof CheckInvariant);
    }

    /** An expression in SQL, without names and functions resolved. */
    public static Expression parsed(String sql) {
        return CatalystSqlParser$.MODULE$.parseExpression(sql);
    }

    /** An expression in SQL with other expressions for its columns, by their paths. */
    public static Expression withColumns(String sql, Function<List<String>, Expression> values) {
        return withColumns(parsed(sql), values);
    }

    private static Expression withColumns(Expression expression, Function<List<String>, Expression> values) {
        return expression instanceof UnresolvedAttribute column ? values.apply(List.copyOf(CollectionConverters.asJava(column.nameParts())))
            : (Expression) expression.mapChildren(child -> withColumns((Expression) child, values));
    }

    /** A column by its path. */
    public static Expression column(List<String> path) {
        return new UnresolvedAttribute(CollectionConverters.asScala(path).toSeq());
    }

    /** A value as a type, as an assignment casts it. */
    public static Expression cast(Expression value, DataType type) {
        return Cast$.MODULE$.apply(value, type, true);
    }

    /** A field inside a value, by its path. */
    public static Expression field(Expression value, List<String> path) {
        Expression field = value;
        for (String name : path) {
            field = new UnresolvedExtractValue(field, Literal.create(name, DataTypes.StringType));
        }
        return field;
    }

    /** The type of a field inside a type, by its path. */
    public static DataType typeOf(DataType type, List<String> path) {
        DataType inner = type;
        for (String name : path) {
            inner = Stream.of(((StructType) inner).fields()).filter(field -> field.name().equalsIgnoreCase(name)).findFirst().orElseThrow().dataType();
        }
        return inner;
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
