package versioned.spark.write;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsDynamicOverwrite;
import org.apache.spark.sql.connector.write.SupportsOverwriteV2;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.internals.HadoopFolders;
import versioned.spark.internals.SparkPython;
import versioned.spark.internals.SparkStatements;
import versioned.spark.protocol.*;
import versioned.spark.python.Python;
import versioned.spark.python.TableOptions;
import versioned.spark.python.TableRefs;
import versioned.spark.python.Terms;

/** Builds the write of the rows of an INSERT or an overwrite, or of a DELETE, UPDATE or MERGE without a primary key. */
public final class VersionedWriteBuilder implements SupportsOverwriteV2, SupportsDynamicOverwrite {
    private static final String DISTRIBUTION_MODE = "distributionMode";
    private static final String APPLICATION = "application";
    private static final String BATCH = "batch";

    private final WriteTarget target;
    private final LogicalWriteInfo info;
    private final CaseInsensitiveStringMap options;
    private final boolean ownRows;
    private final Rewrite rewrite;
    private final Statement statement;
    private String mode = "append";
    private List<Term> condition = List.of();

    private VersionedWriteBuilder(WriteTarget target, LogicalWriteInfo info, boolean ownRows, Rewrite rewrite) {
        this.target = target;
        this.info = info;
        this.options = TableOptions.accepted(target.ref().name(), target.isNamed(), info.options(),
            rewrite != null ? TableOptions.READ : target.batch() != null ? TableOptions.SINK : TableOptions.WRITE);
        this.ownRows = ownRows;
        this.rewrite = rewrite;
        this.statement = new Statement(rewrite == null ? null : rewrite.condition());
    }

    /** @param ownRows whether the rows were computed from all rows of the table */
    public VersionedWriteBuilder(WriteTarget target, LogicalWriteInfo info, boolean ownRows) {
        this(target, info, ownRows, null);
    }

    /** A write whose rows replace those that the statement read. */
    public VersionedWriteBuilder(WriteTarget target, LogicalWriteInfo info, Rewrite rewrite) {
        this(target, info, false, rewrite);
    }

    @Override
    public WriteBuilder truncate() {
        mode = "overwrite";
        return this;
    }

    @Override
    public WriteBuilder overwrite(Predicate[] predicates) {
        if (predicates.length == 1 && predicates[0].name().equals("ALWAYS_TRUE")) {
            return truncate();
        }
        mode = "overwrite_where";
        condition = Terms.of(List.of(predicates));
        return this;
    }

    @Override
    public WriteBuilder overwriteDynamicPartitions() {
        mode = "overwrite_partitions";
        return this;
    }

    @Override
    public DistributedWrite build() {
        TableRef table = target.ref();
        Creation creation = target.creation();
        TableOptions.refuseUnresolved(table.name(), options);
        WritePlan plan = isPlanned() ? target.plan() : Python.send(new PlanWrite(table, creation, info.schema(), condition,
            new ArrayList<>(options.keySet()), !SQLConf.get().charVarcharAsString(),
            options.get(DISTRIBUTION_MODE), rewrite == null ? null : List.of(rewrite.carried().fieldNames()),
            changeColumn()));
        StoredProjection projection = StoredProjection.of(plan.rows(), info.schema(),
            IntStream.range(0, info.schema().size()).toArray(), info.schema().size(),
            rewrite == null ? new StructType() : rewrite.carried());
        boolean isGrouped = target.isNamed() || plan.partitioning().isEmpty(); // else Python groups rows by partition
        RowDistribution distribution = isGrouped ? RowDistribution.of(plan.distribution()) : RowDistribution.NONE;
        if (plan.isNative() && isGrouped && !TableOptions.isPython(options) && HadoopFolders.isReachable(table.hadoop())) {
            WriteMetrics metrics = WriteMetrics.ofRows(table);
            Numbers numbers = new Numbers(table, plan.numbered(), rewrite == null || rewrite.operation().equals("merge"),
                rewrite != null);
            // Rows that a statement copies keep their bytes, by which changes are found.
            boolean shreds = plan.shreds() && rewrite == null;
            return target.streaming(new VersionedWrite(table, plan, projection, distribution, shreds, numbers, metrics, (segments, summary) -> {
                List<String> removed = rewrite == null ? List.of() : rewrite.removed();
                metrics.replaced(removed);
                target.commit(write(removed, numbers.taken(), statement.effect(summary)), segments, metrics::committed);
            }));
        }
        Write write = write(rewrite == null ? List.of() : rewrite.fixRemoved(), List.of(), statement.condition());
        PythonCommit commit = new PythonCommit(target.commitId(), creation == null ? write : null, creation,
            rewrite != null && projection != null, SparkStatements.author());
        StructType rows = commit.stored() ? projection.schema() : info.schema();
        org.apache.spark.sql.connector.write.Write python = TranslatingWrite.of(SparkPython.write(
            info.queryId(), rows, TableRefs.sourceOptions(table, commit)), target::runCommit);
        return target.streaming(new ByPython(
            rewrite == null ? python : RewriteInPython.of(python, rows, projection), distribution.unordered()));
    }

    /** A write by Python with the distribution that it requires. */
    private record ByPython(org.apache.spark.sql.connector.write.Write write, RowDistribution distribution) implements DistributedWrite {
        @Override
        public String description() {
            return write.description();
        }

        @Override
        public CustomMetric[] supportedCustomMetrics() {
            return write.supportedCustomMetrics();
        }

        @Override
        public BatchWrite toBatch() {
            return write.toBatch();
        }
    }

    /** Whether the write is of the kind that was planned when the table was loaded. */
    private boolean isPlanned() {
        return target.plan() != null && (rewrite == null || !rewrite.keepsUnseen()) && info.schema().size() == target.plan().schema().size() && condition.isEmpty()
            && options.isEmpty() && !SQLConf.get().charVarcharAsString();
    }

    private Write write(List<String> removed, List<TakenNumbers> taken, Effect effect) {
        return rewrite == null ? new Write(target.ref(), mode, "insert", condition, ownRows, removed, batch(), changeColumn(),
                target.batch() == null && changeColumn() == null, taken, null)
            : new Write(target.ref(), "rewrite", rewrite.operation(), rewrite.filters(), false, removed, null, null, true, taken,
                effect);
    }

    /** The column of rows that are changes to apply; null for rows of the table. */
    private String changeColumn() {
        return rewrite == null ? options.get(TableOptions.CHANGE_COLUMN) : null;
    }

    /** The batch that the target or the options name; Python checks them. */
    private WriteBatch batch() {
        if (target.batch() != null) {
            return target.batch();
        }
        String application = options.get(APPLICATION);
        String number = options.get(BATCH);
        return application == null && number == null ? null : new WriteBatch(application, number, false);
    }
}
