package versioned.spark.scan;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.internals.SparkPython;
import versioned.spark.protocol.Codec;
import versioned.spark.protocol.MicroBatch;
import versioned.spark.protocol.SegmentRead;
import versioned.spark.protocol.TableRef;
import versioned.spark.python.SchemaOptions;
import versioned.spark.python.TableRefs;
import versioned.spark.python.Terms;

/** Segments that the Python data source reads. */
final class PythonSegments {
    private final Batch batch;

    /** @param filters rows that do not satisfy them need not be read; Spark evaluates them for each row */
    PythonSegments(TableRef table, StructType wanted, List<ScanPlan.Segment> segments, List<Predicate> filters) {
        Map<String, String> options = options(table);
        options.put("segments", Codec.text(new SegmentRead(paths(segments), table.pending(), Terms.of(filters))));
        options.put("versionAsOf", Long.toString(table.version()));
        if (table.seen() != null) {
            options.put(SchemaOptions.SCHEMA_VERSION, table.seen());
            options.put(SchemaOptions.ON_OVERFLOW, table.overflow());
        }
        this.batch = batch(wanted, options);
    }

    /** Segments of a micro-batch of a stream. */
    PythonSegments(MicroBatch batch, StructType wanted, List<ScanPlan.Segment> segments) {
        Map<String, String> options = options(batch.stream().table());
        options.put("segments", Codec.text(new SegmentRead(paths(segments), List.of(), List.of())));
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
        Map<String, String> options = TableRefs.sourceOptions(table);
        options.put("tableName", table.name());
        return options;
    }

    private static List<String> paths(List<ScanPlan.Segment> segments) {
        return segments.stream().map(ScanPlan.Segment::path).toList();
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
