package versioned.spark.extension;

import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.RowLevelWrite;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;
import versioned.spark.catalog.RowChange;
import versioned.spark.catalog.StagedVersionedTable;
import versioned.spark.catalog.VersionedTable;

/**
 * Detects that a statement also reads the table that it changes, in a subquery or as a source. Under serializable isolation,
 * its rows then depend on every row of the table. Also tells the table how to run the statement again after a conflict,
 * and which condition it has.
 */
public final class DetectSelfReads extends AbstractFunction1<LogicalPlan, BoxedUnit> {
    private final SparkSession session;

    public DetectSelfReads(SparkSession session) {
        this.session = session;
    }

    /** Looks at the analysed plan: the optimizer evaluates some subqueries and removes them. */
    @Override
    public BoxedUnit apply(LogicalPlan plan) {
        if (plan instanceof V2WriteCommand change && tableOf(change.table()) instanceof RowLevelOperationTable rows
                && rows.operation() instanceof RowChange operation) {
            if (reads(change.query(), operation.table())) {
                operation.readAll();
            }
            if (change instanceof RowLevelWrite rewrite) {
                operation.condition(Conditions.sql(plan, rewrite));
            }
            allowRerun(plan, change.query(), operation.table());
        }
        if (plan instanceof V2WriteCommand write && tableOf(write.table()) instanceof VersionedTable table) {
            if (reads(write.query(), table)) {
                table.readsAll();
            }
            allowRerun(plan, write.query(), table);
        }
        if (plan instanceof V2WriteCommand write && tableOf(write.table()) instanceof StagedVersionedTable staged) {
            tables(write.query()).forEach(staged::reads);
        }
        if (plan instanceof DeleteFromTable delete && tableOf(delete.table()) instanceof VersionedTable table) {
            allowRerun(plan, plan, table);
        }
        return BoxedUnit.UNIT;
    }

    /** A statement that reads another version of its own table, as a DataFrame may, is not run again. */
    private void allowRerun(LogicalPlan plan, LogicalPlan query, VersionedTable table) {
        if (tables(query).anyMatch(other -> isSame(other, table) && other.ref().version() != table.ref().version())) {
            RerunStatement.giveUp();
        } else {
            RecordStatement.of(plan).ifPresent(statement -> table.committer(RerunStatement.of(session, statement)));
        }
    }

    private static Table tableOf(Object relation) {
        return relation instanceof DataSourceV2Relation found ? found.table() : null;
    }

    private static boolean reads(LogicalPlan plan, VersionedTable table) {
        return tables(plan).anyMatch(other -> isSame(other, table));
    }

    private static boolean isSame(VersionedTable one, VersionedTable other) {
        return one.ref().uuid().equals(other.ref().uuid());
    }

    /** The versioned tables that a plan reads, also in subqueries. */
    static Stream<VersionedTable> tables(LogicalPlan plan) {
        Stream<VersionedTable> own = tableOf(plan) instanceof VersionedTable table ? Stream.of(table) : Stream.empty();
        Stream<LogicalPlan> below = Stream.concat(CollectionConverters.asJava(plan.children()).stream(),
            CollectionConverters.asJava(plan.subqueries()).stream());
        return Stream.concat(own, below.flatMap(DetectSelfReads::tables));
    }
}
