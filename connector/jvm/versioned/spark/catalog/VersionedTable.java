package versioned.spark.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.StreamSupport;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsDeleteV2;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.constraints.Constraint;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.python.Commits;
import versioned.spark.python.Condition;
import versioned.spark.python.Predicates;
import versioned.spark.python.Python;
import versioned.spark.python.TableOptions;
import versioned.spark.scan.VersionedScanBuilder;
import versioned.spark.write.VersionedWriteBuilder;

/** A table at one version. Two are equal if they show the same snapshot, whoever asked for them. */
public class VersionedTable implements SupportsRead, SupportsWrite, SupportsMetadataColumns, SupportsDeleteV2,
        SupportsRowLevelOperations, ListedPartitions {
    enum Role { NEWEST, PAST, EVOLVING }

    private final TableRef ref;
    private final Role role;
    private final Column[] columns;
    private final MetadataColumn[] metadataColumns;
    private final Transform[] partitioning;
    private final Constraint[] constraints;
    private final List<String> rowKey;
    private final Map<String, String> properties;
    private boolean readsAll;
    private String within;
    private Rerun rerun = Rerun.NEVER;

    VersionedTable(Role role, JsonNode loaded) {
        this.ref = TableRef.parse(loaded.get("table"));
        this.role = role;
        this.columns = Columns.parse(loaded.get("columns"));
        this.metadataColumns = Columns.parseMetadata(loaded.get("metadata_columns"));
        this.partitioning = Transforms.parse(loaded.get("partitioning"));
        this.constraints = Constraints.parse(loaded.get("primary_key"));
        this.rowKey = List.of(CatalogQuestions.parts(loaded.get("row_key")));
        this.properties = propertiesOf(loaded);
    }

    /** A table from the answer to {@code load}, {@code create} or {@code alter}. */
    public static VersionedTable newest(JsonNode loaded) {
        return new VersionedTable(Role.NEWEST, loaded);
    }

    /** A table as of an older version, which can only be read. */
    public static VersionedTable past(JsonNode loaded) {
        return new VersionedTable(Role.PAST, loaded);
    }

    /** A table whose schema a statement may change, in the commit of its rows. */
    static VersionedTable evolving(JsonNode loaded) {
        try {
            return EvolvingTable.of(loaded); // by a method: the JVM looks up a class whose object is returned here too early
        } catch (NoClassDefFoundError e) {
            return new VersionedTable(Role.EVOLVING, loaded); // before 4.3, Spark asks no table which changes it needs
        }
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

    /** Whether a version was asked for. */
    public boolean isPast() {
        return role == Role.PAST;
    }

    /** Notes the view whose query asked for this table: Python has checked that the columns it is bound to are there. */
    public void checkedFor(String view) {
        within = view;
    }

    /** Whether it was asked for in the query of that view. */
    public boolean isCheckedFor(String view) {
        return view.equals(within);
    }

    /** Says that the rows which are written were made of the table's own. */
    public void readsAll() {
        readsAll = true;
    }

    /** Says what becomes of the statement that changes this table, if its commit loses to another one. */
    public void rerun(Rerun rerun) {
        this.rerun = rerun;
    }

    /** Who takes what is written to this table. */
    public Committer committer() {
        return new Committer() {
            @Override
            public void commit(ObjectNode request) {
                rerun.commit(() -> Commits.ask("commit_write", request));
            }

            @Override
            public void commitWritten(Runnable commit) {
                rerun.commit(commit);
            }
        };
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
    public Constraint[] constraints() {
        return constraints;
    }

    @Override
    public Map<String, String> properties() {
        return properties;
    }

    @Override
    public Set<TableCapability> capabilities() {
        EnumSet<TableCapability> read = EnumSet.of(TableCapability.BATCH_READ);
        EnumSet<TableCapability> both = EnumSet.of(TableCapability.BATCH_READ, TableCapability.BATCH_WRITE,
            TableCapability.TRUNCATE, TableCapability.OVERWRITE_BY_FILTER, TableCapability.OVERWRITE_DYNAMIC);
        return switch (role) {
            case PAST -> read;
            case NEWEST -> both;
            case EVOLVING -> {
                both.add(TableCapability.AUTOMATIC_SCHEMA_EVOLUTION);
                yield both;
            }
        };
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        TableOptions.check(name(), options);
        return new VersionedScanBuilder(this, options);
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        refusePast();
        VersionedWriteBuilder builder =
            new VersionedWriteBuilder(ref, null, info, committer());
        return readsAll ? builder.readingAll() : builder;
    }

    @Override
    public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
        refusePast();
        return () -> rowKey.isEmpty() ? new CopyOnWrite(this, info.command())
            : new DeltaOperation(this, info.command(), rowKey);
    }

    /** Whether a DELETE takes whole segments only, and reads none. */
    @Override
    public boolean canDeleteWhere(Predicate[] predicates) {
        return role != Role.PAST && Python.ask("can_delete", filtered(predicates)).get("whole").asBoolean();
    }

    @Override
    public void deleteWhere(Predicate[] predicates) {
        refusePast();
        rerun.commit(() -> Commits.ask("delete", filtered(predicates)));
    }

    private ObjectNode filtered(Predicate[] predicates) {
        return ref.request().set("filters", Predicates.json(List.of(predicates)));
    }

    @Override
    public boolean truncateTable() {
        refusePast();
        Commits.ask("truncate", ref.request());
        return true;
    }

    private void refusePast() {
        if (role == Role.PAST) {
            throw Condition.READ_ONLY.error(
                name() + " version " + version() + " is the past, which can't be changed; leave out VERSION AS OF");
        }
    }

    /** Which snapshot this is, under whatever name. */
    private List<Object> identity() {
        return List.of(ref.location(), ref.uuid(), ref.version(), ref.pending());
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof VersionedTable table && getClass() == other.getClass() && identity().equals(table.identity());
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
