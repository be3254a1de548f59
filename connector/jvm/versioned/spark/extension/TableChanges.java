package versioned.spark.extension;

import java.util.stream.Collectors;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import versioned.spark.internals.SparkStatements;
import versioned.spark.python.Condition;
import versioned.spark.python.Transforms;

/**
 * Delta's {@code table_changes('t', start, end)}: the same as {@code t CHANGES FROM ... TO ... WITH (computeUpdates = 'true')},
 * which Spark has since 4.3. And {@code table_changes_by_path('/a', start, end)}, the same of {@code delta.`/a`}.
 */
public final class TableChanges extends AbstractFunction1<Seq<Expression>, LogicalPlan> {
    private static final String NAME = "table_changes";
    private static final String USE = NAME + " takes the name of a table as text, the first version or time, and perhaps the last one: "
        + NAME + "('t', 0, 10)";

    private final boolean byPath;

    private TableChanges(boolean byPath) {
        this.byPath = byPath;
    }

    /** Adds the function where Spark reads changes. */
    public static void inject(SparkSessionExtensions extensions) {
        try {
            Class.forName("org.apache.spark.sql.catalyst.analysis.RelationChanges");
        } catch (ClassNotFoundException e) {
            return;
        }
        inject(extensions, NAME, false);
        inject(extensions, NAME + "_by_path", true);
    }

    private static void inject(SparkSessionExtensions extensions, String name, boolean byPath) {
        extensions.injectTableFunction(new Tuple3<>(new FunctionIdentifier(name),
            new ExpressionInfo(TableChanges.class.getName(), name), new TableChanges(byPath)));
    }

    @Override
    public LogicalPlan apply(Seq<Expression> arguments) {
        if (arguments.size() < 2 || arguments.size() > 3) {
            throw refusal(USE);
        }
        String range = " CHANGES FROM " + bound(arguments.apply(1));
        if (arguments.size() == 3) {
            range += " TO " + bound(arguments.apply(2));
        }
        String query = "SELECT * FROM " + table(arguments.apply(0)) + range + " WITH (computeUpdates = 'true')";
        try {
            return SparkStatements.query(SparkSession.active(), query).children().head();
        } catch (ParseException e) {
            throw refusal(USE);
        }
    }

    private String table(Expression argument) {
        if (!argument.foldable() || !(argument.dataType() instanceof StringType) || argument.eval(null) == null) {
            throw refusal(USE);
        }
        String name = argument.eval(null).toString();
        if (byPath) {
            return "delta." + Transforms.quoted(name);
        }
        try {
            return CollectionConverters.asJava(SparkStatements.name(SparkSession.active(), name)).stream()
                .map(Transforms::quoted).collect(Collectors.joining("."));
        } catch (ParseException e) {
            throw refusal(USE + ", but not " + name);
        }
    }

    /** Not an AnalysisException, to which Spark would add a position, and PySpark then asks for a condition of Spark's own. */
    private static IllegalArgumentException refusal(String message) {
        return new IllegalArgumentException(Condition.INVALID_VALUE.text(message));
    }

    /** A version, or a time in the session's time zone. */
    private static String bound(Expression argument) {
        if (!argument.foldable() || argument.eval(null) == null) {
            throw refusal(USE);
        }
        if (argument.dataType() instanceof IntegralType) {
            return "VERSION " + argument.eval(null);
        }
        if (!(argument.dataType() instanceof StringType || argument.dataType() instanceof TimestampType
                || argument.dataType() instanceof TimestampNTZType || argument.dataType() instanceof DateType)) {
            throw refusal(USE);
        }
        return "TIMESTAMP " + Literal.create(argument.eval(null), argument.dataType()).sql();
    }
}
