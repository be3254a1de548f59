package versioned.spark.internals;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.ArrayTransform;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.objects.AssertNotNull;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Catalyst's expressions over rows, by the position of their columns. */
public final class SparkProjections {
    private SparkProjections() {}

    /** The column at a position. */
    public static Expression column(int index, DataType type) {
        return new BoundReference(index, type, true);
    }

    /** The field of a struct at a position; null if the struct is. */
    public static Expression field(Expression struct, int index) {
        return new GetStructField(struct, index, Option.empty());
    }

    /** A constant. */
    public static Expression constant(Object value, DataType type) {
        return Literal$.MODULE$.create(value, type);
    }

    /** A value widened to a type; fields of structs are matched by position. */
    public static Expression widened(Expression value, DataType type) {
        return DataType.equalsStructurally(value.dataType(), type, true) ? value
            : new Cast(value, type.asNullable(), Option.empty(), EvalMode$.MODULE$.ANSI());
    }

    /** A value that must not be null, else Spark's error for a null in a NOT NULL column; the path names it. */
    public static Expression notNull(Expression value, List<String> path) {
        return new AssertNotNull(value, seq(path));
    }

    /** The number after a BIGINT; null after null. */
    public static Expression next(Expression number) {
        return new Add(number, Literal$.MODULE$.apply(1L));
    }

    /** One value where another is null, else a third. */
    public static Expression ifNull(Expression tested, Expression then, Expression otherwise) {
        return new If(new IsNull(tested), then, otherwise);
    }

    /** A struct of the given fields. */
    public static Expression struct(StructType type, List<Expression> fields) {
        List<Expression> members = new ArrayList<>();
        for (int i = 0; i < fields.size(); i++) {
            StructField field = type.fields()[i];
            members.add(Literal$.MODULE$.apply(field.name()));
            members.add(fields.get(i));
        }
        return new CreateNamedStruct(seq(members));
    }

    /** An array with each element changed. */
    public static Expression elements(Expression array, UnaryOperator<Expression> change) {
        ArrayType type = (ArrayType) array.dataType();
        NamedLambdaVariable element = new NamedLambdaVariable("element", type.elementType(), true,
            NamedExpression$.MODULE$.newExprId(), new AtomicReference<>());
        return new ArrayTransform(array, new LambdaFunction(change.apply(element), seq(List.of(element)), false));
    }

    /** One value where two others are equal, or both null, else a third. */
    public static Expression ifSame(Expression one, Expression other, Expression then, Expression otherwise) {
        return new If(new EqualNullSafe(one, other), then, otherwise);
    }

    /** A compiled projection, for one task. */
    public static UnaryOperator<InternalRow> compile(List<Expression> columns) {
        return UnsafeProjection.create(seq(columns))::apply;
    }

    private static <T> Seq<T> seq(List<T> members) {
        return CollectionConverters.asScala(members).toSeq();
    }
}
