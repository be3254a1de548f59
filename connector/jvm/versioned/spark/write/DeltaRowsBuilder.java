package versioned.spark.write;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.apache.spark.sql.connector.write.DeltaWrite;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.internals.SparkPython;
import versioned.spark.python.Commits;
import versioned.spark.python.Python;

/** Makes the write of a DELETE, UPDATE or MERGE of a table with a primary key. */
public final class DeltaRowsBuilder implements DeltaWriteBuilder {
    private final VersionedTable table;
    private final List<String> rowKey;
    private final ObjectNode commit;
    private final LogicalWriteInfo info;

    /**
     * @param table what is changed
     * @param rowKey the columns that rows are told apart by
     * @param commit the question {@code commit_write}
     * @param info what Spark says; a DELETE has no rows but keys
     */
    public DeltaRowsBuilder(VersionedTable table, List<String> rowKey, ObjectNode commit, LogicalWriteInfo info) {
        this.table = table;
        this.rowKey = rowKey;
        this.commit = commit;
        this.info = info;
    }

    @Override
    public DeltaWrite build() {
        DeltaLayout layout = DeltaLayout.of(table.name(), table.schema(), rowKey, info.schema());
        Arrangement arrangement = Arrangement.parse(Python.ask("arrange_delta", table.ref().request()));
        commit.put("commit_id", Commits.newId());
        return new DeltaRows(ShownWrite.of(SparkPython.write("versioned", info.queryId(), layout.written(),
            PythonWrite.options(table.ref(), commit)), table.committer()::commitWritten), layout, arrangement);
    }
}
