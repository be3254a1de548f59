package versioned.spark.catalog;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkEnv;
import versioned.spark.protocol.LoadedColumn;
import versioned.spark.protocol.LoadedTable;

/**
 * What OpenLineage's listener for Spark reads of a table of a data source that it does not know: properties that name the dataset,
 * and facets as JSON. The names and the facet are those of {@code versioned_interop.lineage}; only top-level columns are in it.
 */
final class Lineage {
    private static final String LISTENER = "OpenLineageSparkListener";
    private static final String DATASET = "openlineage.dataset.";
    private static final String SCHEMA = "urn:versioned:lineage:1-0-0:VersionedColumnsDatasetFacet";
    private static final String VERSION_SCHEMA =
        "https://openlineage.io/spec/facets/1-0-1/DatasetVersionDatasetFacet.json#/$defs/DatasetVersionDatasetFacet";
    private static final String PRODUCER = "urn:versioned:catalog";
    private static final ObjectMapper JSON = new ObjectMapper();

    private Lineage() {}

    /** Whether the listener is among those that the application was started with. */
    static boolean isListening() {
        SparkEnv env = SparkEnv.get();
        return env != null && env.conf().get("spark.extraListeners", "").contains(LISTENER);
    }

    /** The properties for the listener. */
    static Map<String, String> properties(LoadedTable loaded) {
        String location = loaded.table().location();
        int scheme = location.indexOf("://");
        int bucket = scheme < 0 ? -1 : location.indexOf('/', scheme + 3);
        Map<String, String> properties = new HashMap<>();
        properties.put(DATASET + "namespace", scheme < 0 ? "file" : bucket < 0 ? location : location.substring(0, bucket));
        properties.put(DATASET + "name", scheme < 0 ? location : bucket < 0 ? "/" : location.substring(bucket + 1));
        properties.put(DATASET + "facets.version",
            facet(VERSION_SCHEMA).put("datasetVersion", String.valueOf(loaded.table().version())).toString());
        properties.put(DATASET + "facets.versioned_columns", columns(loaded).toString());
        return properties;
    }

    private static ObjectNode columns(LoadedTable loaded) {
        ObjectNode facet = facet(SCHEMA).put("table", loaded.table().name()).put("tableUuid", loaded.table().uuid())
            .put("version", loaded.table().version()).put("schemaVersion", loaded.table().schemaVersion());
        ArrayNode columns = facet.putArray("columns");
        for (LoadedColumn column : loaded.columns()) {
            columns.addObject().put("id", column.id()).put("name", column.name()).put("type", column.type().sql())
                .put("nullable", column.nullable());
        }
        return facet;
    }

    private static ObjectNode facet(String schema) {
        return JSON.createObjectNode().put("_producer", PRODUCER).put("_schemaURL", schema);
    }
}
