package versioned.spark.write;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsDynamicOverwrite;
import org.apache.spark.sql.connector.write.SupportsOverwriteV2;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import versioned.spark.catalog.Committer;
import versioned.spark.catalog.TableRef;
import versioned.spark.internals.SparkPython;
import versioned.spark.python.Commits;
import versioned.spark.python.Io;
import versioned.spark.python.Predicates;
import versioned.spark.python.Python;

/** Collects what Spark says of a write. */
public final class VersionedWriteBuilder implements SupportsOverwriteV2, SupportsDynamicOverwrite {
    private final TableRef table;
    private final ObjectNode creation;
    private final LogicalWriteInfo info;
    private final Committer committer;
    private final ObjectNode commit;
    private final Replaced replaced;

    /** The rows of a DELETE, UPDATE or MERGE, which stand for what it has read. */
    public VersionedWriteBuilder(TableRef table, ObjectNode commit, LogicalWriteInfo info, Committer committer,
            Replaced replaced) {
        this.table = table;
        this.creation = null;
        this.info = info;
        this.committer = committer;
        this.commit = commit;
        this.replaced = replaced;
    }

    /**
     * @param table what is written to, at the version that the write was planned on
     * @param creation how the table is made, where it is not there yet; else null
     * @param info what Spark says
     * @param committer who takes the commit
     */
    public VersionedWriteBuilder(TableRef table, ObjectNode creation, LogicalWriteInfo info, Committer committer) {
        this.table = table;
        this.creation = creation;
        this.info = info;
        this.committer = committer;
        this.commit = table.request().put("mode", "append");
        this.replaced = Replaced.NOTHING;
    }

    /** Rows that depend on every row of the table. */
    public VersionedWriteBuilder readingAll() {
        commit.put("reads_all", true);
        return this;
    }

    @Override
    public WriteBuilder truncate() {
        commit.put("mode", "overwrite");
        return this;
    }

    @Override
    public WriteBuilder overwrite(Predicate[] predicates) {
        if (predicates.length == 1 && predicates[0].name().equals("ALWAYS_TRUE")) {
            return truncate();
        }
        commit.put("mode", "overwrite_where").set("filters", Predicates.json(List.of(predicates)));
        return this;
    }

    @Override
    public WriteBuilder overwriteDynamicPartitions() {
        commit.put("mode", "overwrite_partitions");
        return this;
    }

    @Override
    public Write build() {
        WritePlan plan = WritePlan.ask(table, creation, info, commit.get("filters"));
        if (plan.isNative() && !Io.isPython(info.options()) && table.isReachable()) {
            return new VersionedWrite(table.name(), plan, commit, committer, replaced);
        }
        replaced.ahead(commit).put("commit_id", Commits.newId());
        if (creation != null) {
            commit.set("creation", creation);
            committer.commit(commit); // what Python has made already is not made again: it knows the commit by its ID
        }
        Write python = ShownWrite.of(SparkPython.write("versioned", info.queryId(), info.schema(),
            PythonWrite.options(table, commit)), committer::commitWritten);
        Write write = replaced == Replaced.NOTHING ? python : RewriteInPython.of(python, info.schema());
        return new ArrangedWrite(write, plan.arrangement().unordered());
    }
}
