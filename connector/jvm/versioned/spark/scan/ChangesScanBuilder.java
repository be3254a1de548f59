package versioned.spark.scan;

import java.util.List;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.internals.HadoopFolders;
import versioned.spark.internals.SparkParquetReading;
import versioned.spark.protocol.PlanChanges;
import versioned.spark.protocol.StreamRef;
import versioned.spark.protocol.TableRef;
import versioned.spark.python.PathOptions;
import versioned.spark.python.Python;
import versioned.spark.python.TableOptions;
import versioned.spark.python.Terms;

/**
 * A scan of changes. Segments whose rows are all changes of one type are read as those of a scan are; what must be compared, tasks
 * in Python compute.
 */
public final class ChangesScanBuilder extends PushedScanBuilder {
    private static final String VERSION = "_commit_version";

    private final AskedChanges asked;
    private final StructType whole;

    /** @param schema of the changes */
    public ChangesScanBuilder(TableRef table, AskedChanges asked, CaseInsensitiveStringMap options, StructType schema) {
        super(table, schema, false, options);
        this.asked = asked;
        this.whole = schema;
    }

    /** Python's batches need a column to have a number of rows. */
    @Override
    public void pruneColumns(StructType schema) {
        wanted = schema.isEmpty() ? new StructType().add(whole.apply(VERSION)) : schema;
    }

    /** Only changes of rows that satisfy them are found, in the commits that may; Spark evaluates them for each row, too. */
    @Override
    public Predicate[] pushPredicates(Predicate[] predicates) {
        filters = NormalFilters.of(List.of(predicates));
        return predicates;
    }

    @Override
    public Scan build() {
        return new ChangesScan();
    }

    /** The scan of what was pushed; Spark asks it several times for its batch. */
    private final class ChangesScan implements Scan, Batch {
        private final boolean isNative = !TableOptions.isPython(options) && HadoopFolders.isReachable(table.hadoop());
        private ScanPlan plan;
        private PartitionReaderFactory factory;

        @Override
        public StructType readSchema() {
            return wanted;
        }

        @Override
        public String description() {
            return "ChangesScan " + table.name() + " " + asked + (plan == null ? "" : ", " + ways()) + ", filters: " + filters;
        }

        private String ways() {
            long segments = plan.segments().size();
            long read = plan.segments().stream().filter(plan::isNative).count();
            return "segments: {native=" + read + ", python=" + (segments - read) + "}, tasks in Python: "
                + plan.pythonPartitions(wanted).size();
        }

        @Override
        public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
            return VersionedStream.ofChanges(new StreamRef(table, asked.ofStream(PathOptions.ofStream(options))), wanted,
                isNative);
        }

        @Override
        public Batch toBatch() {
            return this;
        }

        private synchronized ScanPlan plan() {
            if (plan == null) {
                plan = ScanPlan.of(Python.send(new PlanChanges(table, asked.ofBatch(), wanted, Terms.of(filters), isNative)));
            }
            return plan;
        }

        @Override
        public InputPartition[] planInputPartitions() {
            List<InputPartition> partitions = Splits.pack(table, plan(), plan().segments(), false);
            partitions.addAll(plan().pythonPartitions(wanted));
            return partitions.toArray(InputPartition[]::new);
        }

        @Override
        public synchronized PartitionReaderFactory createReaderFactory() {
            if (factory == null) { // adaptive execution calls this twice
                factory = SegmentReaderFactory.of(table, plan(), wanted, filters, () -> SparkParquetReading.of(table.hadoop()));
            }
            return factory;
        }
    }
}
