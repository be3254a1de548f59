package versioned.spark.internals;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.VersionedCatalog;

/**
 * {@code ALTER TABLE t ADD|DROP|REPLACE PARTITION FIELD}, which Spark's grammar doesn't have, as a call of a procedure.
 * All other statements, and those about tables of other catalogs, go on as they are.
 */
public final class PartitionFieldParser {
    private static final Pattern STATEMENT = Pattern.compile(
        "\\s*ALTER\\s+TABLE\\s+(.+?)\\s+((?:ADD|DROP|REPLACE)\\s+PARTITION\\s+FIELD\\s.+?)[\\s;]*",
        Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

    private final SparkSession session;
    private final ParserInterface parser;

    private PartitionFieldParser(SparkSession session, ParserInterface parser) {
        this.session = session;
        this.parser = parser;
    }

    /**
     * A parser that knows the statement. What else a parser can do differs between releases, so it is handed on by name.
     *
     * @param parser what parses everything else
     */
    public static ParserInterface over(SparkSession session, ParserInterface parser) {
        PartitionFieldParser ours = new PartitionFieldParser(session, parser);
        return (ParserInterface) Proxy.newProxyInstance(PartitionFieldParser.class.getClassLoader(),
            new Class<?>[] {ParserInterface.class}, (proxy, method, given) -> ours.handOn(method, given));
    }

    private Object handOn(Method method, Object[] given) throws Throwable {
        try {
            if (method.getName().startsWith("parsePlan") && given[0] instanceof String sql) {
                given[0] = call(sql).orElse(sql);
            }
            return method.invoke(parser, given);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private Optional<String> call(String sql) throws Throwable {
        Matcher found = STATEMENT.matcher(sql);
        if (!found.matches()) {
            return Optional.empty();
        }
        List<String> table = CollectionConverters.asJava(parser.parseMultipartIdentifier(found.group(1)));
        return SparkCatalogs.find(session, table).filter(named -> named.catalog() instanceof VersionedCatalog)
            .map(named -> "CALL " + quoted(named.catalog().name()) + ".system.alter_partitioning(table => "
                + text(name(named)) + ", change => " + text(found.group(2)) + ")");
    }

    private static String name(SparkCatalogs.Named named) {
        StringBuilder name = new StringBuilder();
        for (String part : named.ident().namespace()) {
            name.append(quoted(part)).append('.');
        }
        return name.append(quoted(named.ident().name())).toString();
    }

    private static String quoted(String name) {
        return "`" + name.replace("`", "``") + "`";
    }

    private static String text(String text) {
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
    }
}
