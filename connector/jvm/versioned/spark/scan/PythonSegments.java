package versioned.spark.scan;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.internals.SparkPython;
import versioned.spark.protocol.Codec;
import versioned.spark.protocol.StreamMessages.MicroBatch;
import versioned.spark.protocol.TableRef;
import versioned.spark.python.SchemaOptions;

/** Segments that the Python data source reads. */
final class PythonSegments {
    private final Batch batch;

    PythonSegments(TableRef table, StructType wanted, List<ScanPlan.Segment> segments) {
        Map<String, String> options = options(table, segments);
        options.put("versionAsOf", Long.toString(table.version()));
        options.put("pending", Codec.text(table.pending()));
        if (table.seen() != null) {
            options.put(SchemaOptions.SCHEMA_VERSION, table.seen());
            options.put(SchemaOptions.ON_OVERFLOW, table.overflow());
        }
        this.batch = batch(wanted, options);
    }

    /** Segments of a micro-batch of a stream. */
    PythonSegments(MicroBatch batch, StructType wanted, List<ScanPlan.Segment> segments) {
        Map<String, String> options = options(batch.stream().table(), segments);
        options.put("microBatch", Codec.text(batch));
        this.batch = batch(wanted, options);
    }

    /** The changes of a micro-batch of a stream. */
    PythonSegments(MicroBatch batch, StructType wanted) {
        Map<String, String> options = options(batch.stream().table());
        options.put("microBatch", Codec.text(batch));
        this.batch = batch(wanted, options);
    }

    private static Map<String, String> options(TableRef table) {
        Map<String, String> options = table.sourceOptions();
        options.put("tableName", table.name());
        return options;
    }

    private static Map<String, String> options(TableRef table, List<ScanPlan.Segment> segments) {
        Map<String, String> options = options(table);
        options.put("segments", Codec.text(segments.stream().map(ScanPlan.Segment::path).toList()));
        return options;
    }

    private static Batch batch(StructType wanted, Map<String, String> options) {
        return new TranslatingBatch(SparkPython.scan("versioned", wanted, new CaseInsensitiveStringMap(options)));
    }

    List<InputPartition> partitions() {
        return Arrays.asList(batch.planInputPartitions());
    }

    PartitionReaderFactory factory() {
        return batch.createReaderFactory();
    }
}
