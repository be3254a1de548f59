package versioned.spark.scan;

import com.fasterxml.jackson.core.JsonProcessingException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.catalog.TableRef;
import versioned.spark.internals.SparkPython;
import versioned.spark.python.Python;

/** Segments that Python reads: the data source itself, told which. */
final class PythonSegments {
    private final Batch batch;

    PythonSegments(TableRef table, StructType wanted, List<ScanPlan.Segment> segments) {
        Map<String, String> options = new HashMap<>();
        options.put("path", table.location());
        options.put("versionAsOf", Long.toString(table.version()));
        options.put("segments", json(segments));
        options.put("pending", table.pending());
        table.storage().forEach((key, value) -> options.put("storage." + key, value));
        this.batch = new ShownBatch(SparkPython.scan("versioned", wanted, new CaseInsensitiveStringMap(options)));
    }

    private static String json(List<ScanPlan.Segment> segments) {
        try {
            return Python.JSON.writeValueAsString(segments.stream().map(ScanPlan.Segment::path).toList());
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }

    List<InputPartition> partitions() {
        return Arrays.asList(batch.planInputPartitions());
    }

    PartitionReaderFactory factory() {
        return batch.createReaderFactory();
    }
}
