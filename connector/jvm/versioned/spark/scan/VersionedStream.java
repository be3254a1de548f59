package versioned.spark.scan;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadAllAvailable;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import versioned.spark.internals.SparkParquetReading;
import versioned.spark.protocol.*;
import versioned.spark.python.Python;

/**
 * The rows that are added to a table, or its changes. Python decides where micro-batches end and what they hold; segments are read as
 * those of a scan are.
 */
final class VersionedStream implements MicroBatchStream, SupportsAdmissionControl, SupportsTriggerAvailableNow,
        ReportsSourceMetrics {
    /** The limits of the stream's options, which Python knows; Spark hands them back. */
    private record LimitsOfOptions() implements ReadLimit {}

    /** The partitions of a micro-batch; they are the same whenever it is planned. */
    private record Planned(MicroBatch batch, InputPartition[] partitions) {}

    /** An offset as Python wrote it; only Python knows what it says. */
    private static final class JsonOffset extends Offset {
        private final String json;

        JsonOffset(String json) {
            this.json = json;
        }

        @Override
        public String json() {
            return json;
        }
    }

    /** What one task reads of a micro-batch, with the factory of that batch: Spark asks for factories without naming one. */
    private record BatchPartition(InputPartition partition, PartitionReaderFactory factory) implements InputPartition {
        @Override
        public String[] preferredLocations() {
            return partition.preferredLocations();
        }

        /** Makes the readers of any batch. */
        record AnyBatch() implements PartitionReaderFactory {
            @Override
            public boolean supportColumnarReads(InputPartition partition) {
                return of(partition).factory.supportColumnarReads(of(partition).partition);
            }

            @Override
            public PartitionReader<InternalRow> createReader(InputPartition partition) {
                return of(partition).factory.createReader(of(partition).partition);
            }

            @Override
            public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
                return of(partition).factory.createColumnarReader(of(partition).partition);
            }

            private static BatchPartition of(InputPartition partition) {
                return (BatchPartition) partition;
            }
        }
    }

    private static final String CONSUMER = "consumer";

    private final StreamRef stream;
    private final StructType wanted;
    private final boolean isNative;
    private String until;
    private StreamAhead ahead; // what Python last said; Spark asks for its parts one by one
    private Planned planned; // the last micro-batch: Spark plans each of them twice
    private SparkParquetReading parquet; // of all micro-batches: it broadcasts Hadoop's configuration

    private VersionedStream(StreamRef stream, StructType wanted, boolean isNative) {
        this.stream = stream;
        this.wanted = wanted;
        this.isNative = isNative;
    }

    /** The rows that are added to a table. */
    static VersionedStream ofRows(StreamRef stream, StructType wanted, boolean isNative) {
        return new VersionedStream(stream, wanted.asNullable(), isNative); // a column may be dropped meanwhile
    }

    /** The changes of a table. */
    static VersionedStream ofChanges(StreamRef stream, StructType wanted, boolean isNative) {
        return new VersionedStream(stream, wanted, isNative);
    }

    @Override
    public Offset initialOffset() {
        return offset(Python.send(new StreamStart(stream)));
    }

    @Override
    public ReadLimit getDefaultReadLimit() {
        return new LimitsOfOptions();
    }

    @Override
    public Offset latestOffset() {
        throw new UnsupportedOperationException("Spark asks for latestOffset(start, limit)");
    }

    @Override
    public Offset latestOffset(Offset start, ReadLimit limit) {
        ahead = Python.send(new StreamLatest(stream, start.json(), !(limit instanceof ReadAllAvailable), until));
        return new JsonOffset(ahead.offset());
    }

    @Override
    public Offset reportLatestOffset() {
        return ahead == null ? offset(Python.send(new StreamNewest(stream))) : new JsonOffset(ahead.newest());
    }

    @Override
    public void prepareForTriggerAvailableNow() {
        until = Python.send(new StreamNewest(stream)).offset();
    }

    @Override
    public Offset deserializeOffset(String json) {
        return new JsonOffset(json);
    }

    private static Offset offset(StreamPlace place) {
        return new JsonOffset(place.offset());
    }

    @Override
    public InputPartition[] planInputPartitions(Offset start, Offset end) {
        MicroBatch batch = new MicroBatch(stream, start.json(), end.json());
        if (planned == null || !planned.batch().equals(batch)) {
            planned = new Planned(batch, partitions(batch));
        }
        return planned.partitions();
    }

    private InputPartition[] partitions(MicroBatch batch) {
        ScanPlan plan = ScanPlan.of(Python.send(new PlanMicroBatch(batch, wanted, isNative)));
        TableRef table = stream.table();
        List<InputPartition> partitions = Splits.pack(table, plan, plan.segments(), false);
        partitions.addAll(plan.pythonPartitions(wanted));
        PartitionReaderFactory factory = SegmentReaderFactory.of(table, plan, wanted, List.of(), this::parquet);
        return partitions.stream().map(partition -> new BatchPartition(partition, factory)).toArray(InputPartition[]::new);
    }

    private SparkParquetReading parquet() {
        if (parquet == null) {
            parquet = SparkParquetReading.of(stream.table().hadoop());
        }
        return parquet;
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
        return new BatchPartition.AnyBatch();
    }

    /** How far the stream is behind; Spark shows it in the progress of a query. */
    @Override
    public Map<String, String> metrics(Optional<Offset> latestConsumed) {
        if (latestConsumed.isEmpty()) {
            return Map.of();
        }
        String consumed = latestConsumed.get().json();
        StreamLag lag = ahead != null && ahead.offset().equals(consumed) ? ahead.behind()
            : Python.send(new StreamBehind(stream, consumed));
        return Map.of("versionsBehind", Long.toString(lag.versions()),
            "segmentsBehind", Long.toString(lag.segments()), "rowsBehind", Long.toString(lag.rows()),
            "bytesBehind", Long.toString(lag.bytes()));
    }

    @Override
    public void commit(Offset end) {
        if (stream.options().keySet().stream().anyMatch(CONSUMER::equalsIgnoreCase)) {
            Python.send(new StreamConsumed(stream, end.json()));
        }
    }

    @Override
    public void stop() {}

    @Override
    public String toString() {
        return "VersionedStream " + stream.table().name();
    }
}
