package versioned.spark.internals;

import java.util.Collection;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.catalyst.util.ResolveDefaultColumns;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** The value of a DEFAULT clause by Spark's own rules: the same for CREATE, ADD and SET DEFAULT. */
public final class SparkDefaults {
    /** Text that Spark casts to the time of the statement, whatever follows it. */
    private static final Pattern SPECIAL = Pattern.compile("(?i)\\s*(now|today|tomorrow|yesterday)\\b.*");

    private final Expression analyzed;

    private SparkDefaults(Expression analyzed) {
        this.analyzed = analyzed;
    }

    /** A default as written, with its functions and types resolved. */
    public static SparkDefaults of(String sql) {
        Expression parsed = CatalystSqlParser$.MODULE$.parseExpression(sql);
        NamedExpression named = new Alias(parsed, "default", NamedExpression$.MODULE$.newExprId(), seq(), Option.empty(), seq());
        Project plan = (Project) ResolveDefaultColumns.DefaultColumnAnalyzer$.MODULE$
            .execute(new Project(seq(named), new OneRowRelation()));
        return new SparkDefaults(((Alias) plan.projectList().head()).child());
    }

    /** The names of functions in it whose value depends on time, session, user or chance. */
    public List<String> changing() {
        return changing(analyzed).distinct().toList();
    }

    /** Whether it is such a function and nothing else. */
    public boolean isOneFunction() {
        return isChanging(analyzed);
    }

    /** Its current value as a column's type, in the form of Spark's rows. */
    public static Object value(String column, DataType type, String sql) {
        return ResolveDefaultColumns.analyze(column, type, sql, "").eval(InternalRow.empty());
    }

    private static Stream<String> changing(Expression expression) {
        if (isChanging(expression)) {
            return Stream.of(expression.prettyName());
        }
        if (expression instanceof Cast cast && isTime(cast.dataType()) && cast.child().dataType() instanceof StringType
                && cast.child().foldable() && SPECIAL.matcher(String.valueOf(cast.child().eval(null))).matches()) {
            return Stream.of("CAST('" + cast.child().eval(null) + "' AS " + cast.dataType().sql() + ")");
        }
        return children(expression).stream().flatMap(SparkDefaults::changing);
    }

    private static boolean isChanging(Expression expression) {
        boolean current = expression.containsPattern(TreePattern.CURRENT_LIKE());
        return (current || !expression.deterministic() || expression.prettyName().equals("version"))
            && children(expression).stream().noneMatch(child -> changing(child).findAny().isPresent());
    }

    private static boolean isTime(DataType type) {
        return type instanceof DateType || type instanceof TimestampType || type instanceof TimestampNTZType;
    }

    private static Collection<Expression> children(Expression expression) {
        if (expression instanceof RuntimeReplaceable replaced) {
            return List.of(replaced.replacement()); // to_timestamp('today') is a cast
        }
        return CollectionConverters.asJava(expression.children());
    }

    @SafeVarargs
    private static <T> Seq<T> seq(T... members) {
        return CollectionConverters.asScala(List.of(members)).toSeq();
    }
}
