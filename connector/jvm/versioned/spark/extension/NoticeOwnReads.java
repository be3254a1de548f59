package versioned.spark.extension;

import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
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
 * Notices that a statement reads the table that it writes to beside the rows that it changes: in a subquery, or as a
 * source. Under serializable isolation, what it writes then depends on every row of the table. Notices, too, of which
 * statement a plan was made, so that it can be run again.
 */
public final class NoticeOwnReads extends AbstractFunction1<LogicalPlan, BoxedUnit> {
    private final SparkSession session;

    public NoticeOwnReads(SparkSession session) {
        this.session = session;
    }

    /** Looks at an analysed plan: the optimizer answers some subqueries at once, and no trace of them is left. */
    @Override
    public BoxedUnit apply(LogicalPlan plan) {
        if (plan instanceof V2WriteCommand change && tableOf(change.table()) instanceof RowLevelOperationTable rows
                && rows.operation() instanceof RowChange operation) {
            if (reads(change.query(), operation.table())) {
                operation.readsAll();
            }
            note(plan, change.query(), operation.table());
        }
        if (plan instanceof V2WriteCommand write && tableOf(write.table()) instanceof VersionedTable table) {
            if (reads(write.query(), table)) {
                table.readsAll();
            }
            note(plan, write.query(), table);
        }
        if (plan instanceof V2WriteCommand write && tableOf(write.table()) instanceof StagedVersionedTable staged) {
            tables(write.query()).forEach(staged::reads);
        }
        if (plan instanceof DeleteFromTable delete && tableOf(delete.table()) instanceof VersionedTable table) {
            note(plan, plan, table);
        }
        return BoxedUnit.UNIT;
    }

    /** A statement that reads another version of its own table, as a frame may, is not run again. */
    private void note(LogicalPlan plan, LogicalPlan query, VersionedTable table) {
        if (tables(query).anyMatch(other -> isSame(other, table) && other.ref().version() != table.ref().version())) {
            RunAgain.giveUp();
        } else {
            NoteStatement.of(plan).ifPresent(statement -> table.rerun(RunAgain.of(session, statement)));
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

    /** The tables of ours that a plan reads, in its subqueries, too. */
    private static Stream<VersionedTable> tables(LogicalPlan plan) {
        Stream<VersionedTable> own = tableOf(plan) instanceof VersionedTable table ? Stream.of(table) : Stream.empty();
        Stream<LogicalPlan> below = Stream.concat(CollectionConverters.asJava(plan.children()).stream(),
            CollectionConverters.asJava(plan.subqueries()).stream());
        return Stream.concat(own, below.flatMap(NoticeOwnReads::tables));
    }
}
