package versioned.spark.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.EnumSet;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.python.AnsweredRows;
import versioned.spark.python.Python;
import versioned.spark.python.TableOptions;
import versioned.spark.python.Values;

/**
 * What a table tells of itself, as a table: {@code t.history}, {@code t.segments} and so on.
 *
 * @param ref the table that is told of
 * @param kind what is told
 * @param schema the columns
 */
public record MetadataTable(TableRef ref, String kind, StructType schema) implements SupportsRead {

    /** A table from the answer to {@code load}. */
    static MetadataTable of(JsonNode loaded) {
        return new MetadataTable(TableRef.parse(loaded.get("table")), loaded.get("metadata").asText(),
            (StructType) Values.type(loaded.get("schema")));
    }

    @Override
    public String name() {
        return ref.name() + "." + kind;
    }

    @Override
    public Set<TableCapability> capabilities() {
        return EnumSet.of(TableCapability.BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        TableOptions.check(name(), options);
        return () -> scan();
    }

    private Scan scan() {
        JsonNode answer = Python.ask("metadata", ref.request().put("kind", kind));
        return AnsweredRows.parse("VersionedMetadata " + kind + " of " + ref, schema, answer.get("rows"));
    }
}
