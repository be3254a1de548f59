package versioned.spark.extension;

import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ShowCreateTable;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.internals.SparkStatements;
import versioned.spark.python.Transforms;

/** Has SHOW CREATE TABLE show the clauses of generated and identity columns, which Spark leaves out, each in the line of its column. */
public final class ShowGenerated extends PlanRule {
    private static final String INDENT = "  ";

    private final SparkSession session;

    public ShowGenerated(SparkSession session) {
        this.session = session;
    }

    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        if (!(node instanceof ShowCreateTable && node.productElement(0) instanceof ResolvedTable resolved
                && resolved.table() instanceof VersionedTable table && !table.valueClauses().isEmpty())) {
            return Optional.empty();
        }
        LogicalPlan plain = with(node, 0, with(resolved, 2, table.plain()));
        String statement = SparkStatements.onlyText(session, plain);
        return Optional.of(SparkStatements.ofText(node.output(), shown(statement, table.valueClauses())));
    }

    private static String shown(String statement, Map<String, String> clauses) {
        StringBuilder shown = new StringBuilder();
        boolean isColumn = true;
        for (String line : statement.split("(?<=\n)")) {
            Optional<String> clause = isColumn ? clauses.entrySet().stream()
                .filter(entry -> line.startsWith(INDENT + entry.getKey() + " ") || line.startsWith(INDENT + Transforms.quoted(entry.getKey()) + " "))
                .map(Map.Entry::getValue).findFirst() : Optional.empty();
            int end = line.stripTrailing().length() - 1; // a comma or a parenthesis ends the line of a column
            shown.append(clause.map(sql -> line.substring(0, end) + " " + sql + line.substring(end)).orElse(line));
            isColumn = isColumn && !line.stripTrailing().endsWith(")");
        }
        return shown.toString();
    }
}
