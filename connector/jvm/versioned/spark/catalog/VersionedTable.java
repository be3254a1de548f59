package versioned.spark.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.StreamSupport;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TruncatableTable;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.python.Commits;
import versioned.spark.python.VersionedException;
import versioned.spark.scan.VersionedScanBuilder;
import versioned.spark.write.VersionedWriteBuilder;

/** A table at one version. Two are equal if they show the same snapshot, whoever asked for them. */
public final class VersionedTable implements SupportsRead, SupportsWrite, SupportsMetadataColumns, TruncatableTable,
        ListedPartitions {
    private final TableRef ref;
    private final boolean past;
    private final Column[] columns;
    private final MetadataColumn[] metadataColumns;
    private final Transform[] partitioning;
    private final Map<String, String> properties;

    private VersionedTable(TableRef ref, boolean past, JsonNode loaded) {
        this.ref = ref;
        this.past = past;
        this.columns = Columns.parse(loaded.get("columns"));
        this.metadataColumns = Columns.parseMetadata(loaded.get("metadata_columns"));
        this.partitioning = Transforms.parse(loaded.get("partitioning"));
        this.properties = propertiesOf(loaded);
    }

    /** A table from the answer to {@code load}, {@code create} or {@code alter}. */
    public static VersionedTable newest(JsonNode loaded) {
        return new VersionedTable(TableRef.parse(loaded.get("table")), false, loaded);
    }

    /** A table as of an older version, which can only be read. */
    public static VersionedTable past(JsonNode loaded) {
        return new VersionedTable(TableRef.parse(loaded.get("table")), true, loaded);
    }

    private static Map<String, String> propertiesOf(JsonNode loaded) {
        Map<String, String> properties = new TreeMap<>(TableRef.map(loaded.get("properties")));
        properties.put(TableCatalog.PROP_PROVIDER, "versioned");
        properties.put(TableCatalog.PROP_LOCATION, loaded.get("table").get("location").asText());
        properties.put(TableCatalog.PROP_IS_MANAGED_LOCATION, "true");
        if (loaded.hasNonNull("comment")) {
            properties.put(TableCatalog.PROP_COMMENT, loaded.get("comment").asText());
        }
        return properties;
    }

    /** Which table this is. */
    public TableRef ref() {
        return ref;
    }

    @Override
    public String name() {
        return ref.name();
    }

    /** The UUID of this life of the table. */
    public String id() {
        return ref.uuid();
    }

    /** The version of the snapshot. */
    public String version() {
        return Long.toString(ref.version());
    }

    @Override
    public Column[] columns() {
        return columns;
    }

    @Override
    public StructType schema() {
        StructType schema = new StructType();
        for (Column column : columns) {
            schema = schema.add(column.name(), column.dataType(), column.nullable());
        }
        return schema;
    }

    @Override
    public MetadataColumn[] metadataColumns() {
        return metadataColumns;
    }

    @Override
    public Transform[] partitioning() {
        return partitioning;
    }

    @Override
    public Map<String, String> properties() {
        return properties;
    }

    @Override
    public Set<TableCapability> capabilities() {
        return past ? EnumSet.of(TableCapability.BATCH_READ) : EnumSet.of(TableCapability.BATCH_READ,
            TableCapability.BATCH_WRITE, TableCapability.TRUNCATE, TableCapability.OVERWRITE_BY_FILTER,
            TableCapability.OVERWRITE_DYNAMIC);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        return new VersionedScanBuilder(this, options);
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        refusePast();
        return new VersionedWriteBuilder(ref, null, info, request -> Commits.ask("commit_write", request));
    }

    @Override
    public boolean truncateTable() {
        refusePast();
        Commits.ask("truncate", ref.request().put("commit_id", UUID.randomUUID().toString()));
        return true;
    }

    private void refusePast() {
        if (past) {
            throw VersionedException.of("invalid",
                name() + " version " + version() + " is the past, which can't be changed; leave out VERSION AS OF");
        }
    }

    /** Which snapshot this is, under whatever name. */
    private List<Object> identity() {
        return List.of(ref.location(), ref.uuid(), ref.version());
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof VersionedTable table && identity().equals(table.identity());
    }

    @Override
    public int hashCode() {
        return identity().hashCode();
    }

    @Override
    public String toString() {
        return ref.toString();
    }
}
