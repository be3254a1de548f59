package versioned.spark.extension;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
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
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.catalog.VersionedTables;
import versioned.spark.protocol.ParseStatement;
import versioned.spark.protocol.ParsedStatement;
import versioned.spark.python.Condition;
import versioned.spark.python.Python;

/**
 * Parses statements of Iceberg and Delta that Spark's grammar does not have, as a CALL; Python knows them. Spark's parser parses
 * everything else. Releases of Spark that lack one of these methods never call it.
 */
public final class StatementParser implements ParserInterface {
    /** The beginnings of these statements, so that Python is not asked about others. */
    private static final Pattern STATEMENT = Pattern.compile(
        "(?:\\s|--[^\\n]*\\n|/\\*.*?\\*/)*+(?:(?:OPTIMIZE|VACUUM|RESTORE|REORG|GENERATE|DESC(?:RIBE)?\\s+(?:HISTORY|DETAIL)"
            + "|(?:ANALYZE|UNDROP)\\s+TABLE)\\s.*|SHOW\\s+TABLES\\s+DROPPED\\b.*|CONVERT\\s+TO\\s+(?:DELTA|VERSIONED)\\s.*|CREATE\\s+(?:OR\\s+REPLACE\\s+)?TABLE\\s.*\\sCLONE\\s.*"
            + "|ALTER\\s+TABLE\\s.*\\s(?:ALTER|CHANGE)\\s+(?:COLUMN\\s+)?\\S+\\s+TYPE\\s.*\\s(?:COMMENT|FIRST|AFTER)\\b.*"
            + "|ALTER\\s+TABLE\\s.*\\sALTER\\s+(?:COLUMN\\s+)?(?!COLUMN\\s)\\S+\\s+"
            + "(?!(?:TYPE|COMMENT|FIRST|AFTER|SET|DROP|SYNC|COLUMN)\\b)\\S+\\s+\\S.*"
            + "|ALTER\\s+TABLE\\s.*\\s(?:PARTITION\\s+FIELD|GENERATED\\s+(?:ALWAYS|BY)|IDENTIFIER\\s+FIELDS|BRANCH|TAG|DROP\\s+FEATURE|SYNC\\s+IDENTITY"
            + "|WRITE\\s+(?:UNORDERED|ORDERED|LOCALLY|DISTRIBUTED))\\b.*)",
        Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

    /** Spark's parser. */
    private interface Parsing {
        LogicalPlan of(String sql) throws ParseException;
    }

    private final SparkSession session;
    private final ParserInterface parser;

    /** @param parser what parses everything else */
    public StatementParser(SparkSession session, ParserInterface parser) {
        this.session = session;
        this.parser = parser;
    }

    @Override
    public LogicalPlan parsePlan(String sql) throws ParseException {
        return parse(sql, parser::parsePlan);
    }

    @Override
    public LogicalPlan parsePlanWithParameters(String sql, ParameterContext parameters) throws ParseException {
        return parse(sql, text -> parser.parsePlanWithParameters(text, parameters));
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

    /** Others may parse the statement if the table is none of ours. If nobody can, the error of the CALL says why. */
    private LogicalPlan parse(String sql, Parsing others) throws ParseException {
        if (!STATEMENT.matcher(sql).matches()) {
            return others.of(sql);
        }
        ParsedStatement parsed = Python.send(new ParseStatement(sql));
        Optional<VersionedTables.Named> named = parsed.table() == null ? Optional.empty()
            : VersionedTables.find(session, CollectionConverters.asScala(name(parsed)).toSeq());
        if (named.isEmpty()) {
            return others.of(sql);
        }
        if (!parsed.ofNamespace() && named.get().load().isPresent()) {
            return others.of(call(named.get(), parsed));
        }
        try {
            return others.of(sql);
        } catch (ParseException e) {
            return others.of(call(named.get(), parsed));
        }
    }

    /** The table's name; if the statement names a namespace, or none, that of some table in it, which there need not be. */
    private static List<String> name(ParsedStatement parsed) {
        List<String> name = new ArrayList<>(parsed.table());
        if (parsed.ofNamespace()) {
            name.add("any table");
        }
        return name;
    }

    private static String call(VersionedTables.Named named, ParsedStatement parsed) {
        if (parsed.refused() != null) {
            throw Condition.NOT_SUPPORTED.error(named.catalog().name() + "." + named.ident() + ": " + parsed.refused());
        }
        return parsed.ofNamespace() ? Calls.ofNamespace(named, parsed.procedure(), parsed.arguments())
            : Calls.of(named, parsed.procedure(), parsed.arguments());
    }
}
