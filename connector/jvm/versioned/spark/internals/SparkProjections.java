package versioned.spark.internals;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.objects.AssertNotNull;
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

    /** A compiled projection, for one task. */
    public static java.util.function.UnaryOperator<InternalRow> compile(List<Expression> columns) {
        return UnsafeProjection.create(seq(columns))::apply;
    }

    private static <T> Seq<T> seq(List<T> members) {
        return CollectionConverters.asScala(members).toSeq();
    }
}
