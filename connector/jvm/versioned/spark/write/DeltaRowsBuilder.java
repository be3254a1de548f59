package versioned.spark.write;

import java.util.List;
import org.apache.spark.sql.connector.write.DeltaWrite;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.types.StructType;
import versioned.spark.internals.SparkPython;
import versioned.spark.internals.SparkStatements;
import versioned.spark.protocol.*;
import versioned.spark.python.Python;
import versioned.spark.python.TableRefs;

/**
 * Builds the write of a DELETE, UPDATE or MERGE of a table with a primary key.
 *
 * @param carried the metadata columns that come with an updated row
 * @param operation {@code delete}, {@code update} or {@code merge}
 * @param filters the rows that the statement read
 * @param statement what the history shows of it
 * @param info Spark's description; the rows of a DELETE have no columns but keys
 */
public record DeltaRowsBuilder(WriteTarget target, StructType schema, StructType carried, List<String> rowKey,
        String operation, List<Term> filters, Statement statement, LogicalWriteInfo info) implements DeltaWriteBuilder {
    @Override
    public DeltaWrite build() {
        TableRef table = target.ref();
        DeltaPlan plan = Python.send(new PlanDelta(table,
            operation.equals("delete") ? null : List.of(carried.fieldNames())));
        DeltaLayout layout = DeltaLayout.of(table.name(), schema, carried, rowKey, info.schema(), plan.rows());
        RowDistribution distribution = RowDistribution.of(plan.distribution());
        Write write = new Write(table, "delta", operation, filters, false, List.of(), null, null, true, List.of(),
            statement.condition());
        return new DeltaRows(TranslatingWrite.of(SparkPython.write(info.queryId(), layout.written(),
            TableRefs.sourceOptions(table, new PythonCommit(target.commitId(), write, null, plan.rows() != null,
                SparkStatements.author()))), target::runCommit),
            layout, distribution);
    }
}
