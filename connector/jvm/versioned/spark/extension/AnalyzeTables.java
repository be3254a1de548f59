package versioned.spark.extension;

import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableOrView;
import org.apache.spark.sql.catalyst.plans.logical.AnalyzeColumn;
import org.apache.spark.sql.catalyst.plans.logical.AnalyzeTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.NoopCommand;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.catalog.VersionedTables;
import versioned.spark.internals.SparkStatements;
import versioned.spark.python.Condition;
import versioned.spark.python.Transforms;

/**
 * Makes a CALL of ANALYZE TABLE, which Spark refuses for tables of catalogs. Without columns it has nothing to do: scans always
 * report the number of rows and their size.
 */
public final class AnalyzeTables extends PlanRule {
    private final SparkSession session;

    public AnalyzeTables(SparkSession session) {
        this.session = session;
    }

    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        return node instanceof AnalyzeColumn analyze && analyze.child() instanceof UnresolvedTableOrView table
                ? find(table).map(named -> SparkStatements.parse(session, Calls.of(named, "analyze", columns(analyze))))
            : node instanceof AnalyzeTable analyze && analyze.child() instanceof UnresolvedTableOrView table
                ? find(table).flatMap(named -> counted(named, analyze, table)) : Optional.empty();
    }

    private Optional<VersionedTables.Named> find(UnresolvedTableOrView table) {
        return VersionedTables.find(session, table.multipartIdentifier());
    }

    /** The argument for the columns of the statement; none for all of them. */
    private static Map<String, String> columns(AnalyzeColumn analyze) {
        return analyze.columnNames().isEmpty() ? Map.of() : Map.of("columns", Calls.text(CollectionConverters.asJava(
            analyze.columnNames().get()).stream().map(Transforms::quoted).collect(Collectors.joining(", "))));
    }

    private static Optional<LogicalPlan> counted(VersionedTables.Named named, AnalyzeTable analyze, UnresolvedTableOrView table) {
        if (analyze.partitionSpec().nonEmpty()) {
            throw Condition.NOT_SUPPORTED.error("ANALYZE TABLE " + named.ident() + " PARTITION is not supported: the rows of each"
                + " partition are always known; leave it out, or write FOR ALL COLUMNS");
        }
        return named.load().map(found -> new NoopCommand("ANALYZE TABLE", table.multipartIdentifier()));
    }
}
