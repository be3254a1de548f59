package versioned.spark.extension;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParameterContext;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.parser.SqlStatementSplitResult;
import org.apache.spark.sql.catalyst.parser.TemporalIdentifier;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import versioned.spark.catalog.VersionedTables;

/**
 * Parses {@code ALTER TABLE t ADD|DROP|REPLACE PARTITION FIELD}, which Spark's grammar does not have, as a CALL. Spark's
 * parser parses everything else. Releases of Spark that lack one of these methods never call it.
 */
public final class PartitionFieldParser implements ParserInterface {
    private static final Pattern STATEMENT = Pattern.compile(
        "\\s*ALTER\\s+TABLE\\s+(.+?)\\s+((?:ADD|DROP|REPLACE)\\s+PARTITION\\s+FIELD\\s.+?)[\\s;]*",
        Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

    private final SparkSession session;
    private final ParserInterface parser;

    /** @param parser what parses everything else */
    public PartitionFieldParser(SparkSession session, ParserInterface parser) {
        this.session = session;
        this.parser = parser;
    }

    @Override
    public LogicalPlan parsePlan(String sql) throws ParseException {
        return parser.parsePlan(call(sql).orElse(sql));
    }

    @Override
    public LogicalPlan parsePlanWithParameters(String sql, ParameterContext parameters) throws ParseException {
        return parser.parsePlanWithParameters(call(sql).orElse(sql), parameters);
    }

    @Override
    public LogicalPlan parseQuery(String sql) throws ParseException {
        return parser.parseQuery(sql);
    }

    @Override
    public Expression parseExpression(String sql) throws ParseException {
        return parser.parseExpression(sql);
    }

    @Override
    public TableIdentifier parseTableIdentifier(String sql) throws ParseException {
        return parser.parseTableIdentifier(sql);
    }

    @Override
    public FunctionIdentifier parseFunctionIdentifier(String sql) throws ParseException {
        return parser.parseFunctionIdentifier(sql);
    }

    @Override
    public Seq<String> parseMultipartIdentifier(String sql) throws ParseException {
        return parser.parseMultipartIdentifier(sql);
    }

    @Override
    public TemporalIdentifier parseTemporalTableIdentifier(String sql) throws ParseException {
        return parser.parseTemporalTableIdentifier(sql);
    }

    @Override
    public StructType parseRoutineParam(String sql) throws ParseException {
        return parser.parseRoutineParam(sql);
    }

    @Override
    public StructType parseTableSchema(String sql) throws ParseException {
        return parser.parseTableSchema(sql);
    }

    @Override
    public DataType parseDataType(String sql) throws ParseException {
        return parser.parseDataType(sql);
    }

    @Override
    public SqlStatementSplitResult splitStatements(String sql) {
        return parser.splitStatements(sql);
    }

    private Optional<String> call(String sql) throws ParseException {
        Matcher found = STATEMENT.matcher(sql);
        if (!found.matches()) {
            return Optional.empty();
        }
        return VersionedTables.find(session, parser.parseMultipartIdentifier(found.group(1)))
            .map(named -> Calls.of(named, "alter_partitioning", "change", found.group(2)));
    }
}
