package versioned.spark.catalog;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
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
import org.apache.spark.sql.connector.write.RowLevelOperation;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.internals.SparkStatements;
import versioned.spark.internals.SparkUpdates;
import versioned.spark.protocol.*;
import versioned.spark.python.Commits;
import versioned.spark.python.Condition;
import versioned.spark.python.Python;
import versioned.spark.python.SchemaOptions;
import versioned.spark.python.TableOptions;
import versioned.spark.python.TableRefs;
import versioned.spark.python.Terms;
import versioned.spark.python.Transforms;
import versioned.spark.scan.VersionedScanBuilder;
import versioned.spark.write.EpochTarget;
import versioned.spark.write.VersionedWriteBuilder;
import versioned.spark.write.WriteTarget;

/** A table at one version. Two are equal if they show the same snapshot. */
public class VersionedTable implements SupportsRead, SupportsWrite, SupportsMetadataColumns, SupportsDeleteV2,
        SupportsRowLevelOperations, ListedPartitions, WriteTarget {
    enum Role { NEWEST, PAST, EVOLVING, PATH, PATH_READ }

    /** Spark may read two subqueries in one scan; none before Spark 4.3, which has no such capability. */
    private static final List<TableCapability> MERGED_SCANS = Stream.of(TableCapability.values())
        .filter(capability -> capability.name().equals("SCAN_MERGING")).toList();

    /** Spark computes generated columns; nothing before Spark 4.3. */
    private static final List<TableCapability> GENERATED = Stream.of(TableCapability.values())
        .filter(capability -> capability.name().equals("GENERATE_COLUMN_VALUES_ON_WRITE")).toList();

    private final LoadedTable loaded;
    private final TableRef ref;
    private final Role role;
    private final Column[] columns;
    private final StructType schema;
    private final MetadataColumn[] metadataColumns;
    private final Transform[] partitioning;
    private final Constraint[] constraints;
    private final List<String> rowKey;
    private final Map<String, String> properties;
    private final Map<String, String> forListeners;
    private boolean readsAll;
    private boolean takesChanges;
    private String within;
    private Consumer<Runnable> committer = Runnable::run;
    private WritePlan plan;

    VersionedTable(Role role, LoadedTable loaded) {
        this(role, loaded, false);
    }

    /** @param shown whether it is only shown, to people, and not written to */
    private VersionedTable(Role role, LoadedTable loaded, boolean shown) {
        this.loaded = loaded;
        this.ref = loaded.table();
        this.role = role;
        this.columns = Columns.of(loaded.columns(), shown ? shownGenerations(loaded) : generations(loaded));
        this.schema = Columns.schema(columns);
        this.metadataColumns = Columns.metadata(loaded.metadataColumns(), loaded.unseen(), loaded.renewed());
        this.partitioning = Transforms.of(loaded.partitioning());
        this.constraints = Constraints.of(loaded.primaryKey(), loaded.checks());
        this.rowKey = loaded.rowKey();
        this.properties = propertiesOf(loaded);
        this.forListeners = new TreeMap<>(properties);
        if (!shown && Lineage.isListening()) {
            forListeners.putAll(Lineage.properties(loaded));
        }
    }

    /** A table at its newest version. */
    public static VersionedTable newest(LoadedTable loaded) {
        return new VersionedTable(Role.NEWEST, loaded);
    }

    /** A table at an older version, which can only be read. */
    public static VersionedTable past(LoadedTable loaded) {
        return new VersionedTable(Role.PAST, loaded);
    }

    /** A table that is named by its path, outside a catalog, to read. */
    public static VersionedTable readAtPath(LoadedTable loaded) {
        return new VersionedTable(Role.PATH_READ, loaded);
    }

    /** A table that is named by its path, outside a catalog: the target of a stream. */
    public static VersionedTable atPath(LoadedTable loaded) {
        return new VersionedTable(Role.PATH, loaded);
    }

    /** A table whose schema a statement may change, in the commit of its rows. */
    static VersionedTable evolving(LoadedTable loaded) {
        try {
            return EvolvingTable.of(loaded); // by a method: else the JVM loads the class too early
        } catch (NoClassDefFoundError e) {
            return new VersionedTable(Role.EVOLVING, loaded); // before Spark 4.3, which has no such interface
        }
    }

    private static Map<String, String> propertiesOf(LoadedTable loaded) {
        Map<String, String> properties = new TreeMap<>(loaded.properties());
        properties.put(TableCatalog.PROP_PROVIDER, "versioned");
        properties.put(TableCatalog.PROP_LOCATION, loaded.table().location());
        properties.put(TableCatalog.PROP_IS_MANAGED_LOCATION, String.valueOf(!loaded.external()));
        if (loaded.external()) {
            properties.put(TableCatalog.PROP_EXTERNAL, "true");
        }
        if (loaded.comment() != null) {
            properties.putIfAbsent(TableCatalog.PROP_COMMENT, loaded.comment()); // a property of tables that were altered before 0.1.0
        }
        return properties;
    }

    /** The same table as people see it: without metadata columns that only statements use, and properties that only listeners read. */
    public VersionedTable described() {
        LoadedTable shown = new LoadedTable(ref, loaded.columns(), loaded.metadataColumns(), loaded.partitioning(),
            loaded.primaryKey(), loaded.rowKey(), loaded.properties(), loaded.comment(), List.of(), List.of(), loaded.rows(),
            loaded.checks(), loaded.generated(), loaded.identities(), loaded.external());
        boolean isAlike = loaded.unseen().isEmpty() && loaded.generated().isEmpty() && !tellsListeners();
        return isAlike ? this : new VersionedTable(role, shown, true);
    }

    /** The same table without properties that only listeners read. */
    public VersionedTable forPeople() {
        return tellsListeners() ? new VersionedTable(role, loaded, true) : this;
    }

    private boolean tellsListeners() {
        return forListeners.size() > properties.size();
    }

    private static Map<String, String> generations(LoadedTable loaded) {
        return loaded.generated().stream().collect(Collectors.toMap(GeneratedColumn::column, GeneratedColumn::sql));
    }

    private static Map<String, String> shownGenerations(LoadedTable loaded) {
        return loaded.generated().stream().collect(Collectors.toMap(GeneratedColumn::column, GeneratedColumn::shown));
    }

    /** The expressions by which generated columns are computed, by name. */
    public Map<String, String> generations() {
        return generations(loaded);
    }

    /** The expressions by which generated columns are computed, for people, by name. */
    public Map<String, String> shownGenerations() {
        return shownGenerations(loaded);
    }

    /** The columns that number rows. */
    public List<IdentityColumn> identities() {
        return loaded.identities();
    }

    /** The clauses of CREATE TABLE that say how columns get their values, by column. */
    public Map<String, String> valueClauses() {
        Map<String, String> clauses = new TreeMap<>();
        shownGenerations().forEach((column, sql) -> clauses.put(column, "GENERATED ALWAYS AS (" + sql + ")"));
        identities().forEach(column -> clauses.put(column.column(), column.shown()));
        return clauses;
    }

    /** The same table, as if its generated and identity columns were plain ones. */
    public VersionedTable plain() {
        return new VersionedTable(role, withoutGenerated(loaded.checks(), List.of()), true);
    }

    private LoadedTable withoutGenerated(List<Check> checks, List<IdentityColumn> identities) {
        return new LoadedTable(ref, loaded.columns(), loaded.metadataColumns(), loaded.partitioning(), loaded.primaryKey(),
            loaded.rowKey(), loaded.properties(), loaded.comment(), loaded.unseen(), loaded.renewed(), loaded.rows(), checks, List.of(),
            identities, loaded.external());
    }

    /** The same table for rows that bring the values of its generated columns, which constraints check. */
    public VersionedTable computed() {
        List<Check> all = new ArrayList<>(loaded.checks());
        loaded.generated().forEach(column -> all.add(new Check(column.column() + " AS " + column.shown(),
            Transforms.quoted(column.column()) + " <=> (" + column.sql() + ")", true)));
        LoadedTable bare = withoutGenerated(all, loaded.identities());
        return (role == Role.EVOLVING ? evolving(bare) : new VersionedTable(role, bare)).planned(plan);
    }

    /** The metadata columns that hold what a statement does not see of a row that it changes. */
    public StructType unseen() {
        StructType unseen = new StructType();
        for (LoadedColumn column : loaded.unseen()) {
            unseen = unseen.add(column.name(), column.type(), true);
        }
        return unseen;
    }

    /** The number of rows in its segments; for a primary key, older versions of rows included. */
    public long rows() {
        return loaded.rows();
    }

    /** The properties that users set. */
    public Map<String, String> ownProperties() {
        return loaded.properties();
    }

    /** The comment; null for none. */
    public String comment() {
        return loaded.comment();
    }

    @Override
    public TableRef ref() {
        return ref;
    }

    @Override
    public String name() {
        return ref.name();
    }

    /** Whether it was loaded at a version or a time. */
    public boolean isPast() {
        return role == Role.PAST || role == Role.PATH_READ;
    }

    /** Notes the view whose query loaded this table: Python has checked the columns that the view is bound to. */
    public void checkedFor(String view) {
        within = view;
    }

    /** Whether the query of that view loaded it. */
    public boolean isCheckedFor(String view) {
        return view.equals(within);
    }

    /** Notes that the rows to write are computed from all rows of the table. */
    public void readsAll() {
        readsAll = true;
    }

    /** Notes that the rows to write are changes, whose columns Python matches with those of the table. */
    void takesChanges() {
        takesChanges = true;
    }

    /** Sets what runs the commit of a statement, as one that runs the statement again after a conflict. */
    public void committer(Consumer<Runnable> committer) {
        this.committer = committer;
    }

    /** Notes the plan of a write of all its columns; null if there is none. */
    VersionedTable planned(WritePlan plan) {
        this.plan = plan;
        return this;
    }

    @Override
    public WritePlan plan() {
        return plan;
    }

    @Override
    public boolean isNamed() {
        return role != Role.PATH && role != Role.PATH_READ;
    }

    @Override
    public void commit(Write write, List<WrittenSegment> segments, Consumer<Committed> done) {
        committer.accept(() -> done.accept(Commits.send(new CommitWrite(write, segments, List.of(), List.of()))));
    }

    @Override
    public void runCommit(Runnable commit) {
        committer.accept(commit);
    }

    /** The UUID of this incarnation of the table. */
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

    public boolean isPartitioned() {
        return partitioning.length > 0;
    }

    @Override
    public Constraint[] constraints() {
        return constraints;
    }

    @Override
    public Map<String, String> properties() {
        return forListeners;
    }

    /** Whether rows are replaced by their key. */
    public boolean isKeyed() {
        return !rowKey.isEmpty();
    }

    @Override
    public Set<TableCapability> capabilities() {
        EnumSet<TableCapability> read = EnumSet.of(TableCapability.BATCH_READ);
        read.addAll(MERGED_SCANS);
        EnumSet<TableCapability> both = EnumSet.of(TableCapability.MICRO_BATCH_READ,
            TableCapability.BATCH_WRITE, TableCapability.STREAMING_WRITE, TableCapability.TRUNCATE, TableCapability.OVERWRITE_BY_FILTER,
            TableCapability.OVERWRITE_DYNAMIC);
        both.addAll(read);
        if (!loaded.generated().isEmpty() && !SparkStatements.isStartingStream()) {
            both.addAll(GENERATED);
        }
        if (takesChanges) {
            both.add(TableCapability.ACCEPT_ANY_SCHEMA);
        }
        return switch (role) {
            case PAST, PATH_READ -> read;
            case NEWEST, PATH -> both;
            case EVOLVING -> {
                both.add(TableCapability.AUTOMATIC_SCHEMA_EVOLUTION);
                yield both;
            }
        };
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        CaseInsensitiveStringMap accepted = TableOptions.accepted(name(), isNamed(), options, TableOptions.READ, TableOptions.STREAM);
        SchemaOptions.check(ref, accepted);
        return new VersionedScanBuilder(ref, schema(), isPartitioned(), isKeyed(), accepted, true);
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        refusePast();
        OptionalLong epoch = SparkStatements.epoch(info.queryId());
        if (epoch.isPresent()) {
            VersionedWriteBuilder builder = new VersionedWriteBuilder(EpochTarget.of(this, info, epoch.getAsLong()), info, false);
            return rowKey.isEmpty() ? builder : new SparkUpdates(builder);
        }
        SchemaOptions.check(ref, info.options());
        refuseUnlessComputed();
        return new VersionedWriteBuilder(this, info, readsAll);
    }

    @Override
    public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
        refusePast();
        SchemaOptions.check(ref, info.options());
        SchemaOptions.checkWritable(ref);
        if (info.command() != RowLevelOperation.Command.DELETE) {
            refuseUnlessComputed();
        }
        return () -> !rowKey.isEmpty() ? new DeltaOperation(this, info.command(), rowKey)
            : MarkOperation.suits(this) ? new MarkOperation(this, info.command())
            : new CopyOnWrite(this, info.command());
    }

    /** Whether a DELETE removes whole segments only, and so reads none. One by key writes tombstones, unless it removes all rows. */
    @Override
    public boolean canDeleteWhere(Predicate[] predicates) {
        boolean isAll = Stream.of(predicates).allMatch(predicate -> predicate.name().equals("ALWAYS_TRUE"));
        return !isPast() && (isAll || !isKeyed() && Python.send(new CanDelete(ref, Terms.of(List.of(predicates)))).whole());
    }

    @Override
    public void deleteWhere(Predicate[] predicates) {
        refusePast();
        committer.accept(() -> Commits.send(new Delete(ref, Terms.of(List.of(predicates)))));
    }

    @Override
    public boolean truncateTable() {
        refusePast();
        Commits.send(new Truncate(ref));
        return true;
    }

    private void refuseUnlessComputed() {
        if (!loaded.generated().isEmpty() && GENERATED.isEmpty()) {
            throw Condition.NOT_SUPPORTED.error(name() + " has generated columns, which Spark computes since 4.3; write with "
                + "format(\"versioned\"), option(\"warehouse\", ...) and save(\"namespace.table\")");
        }
    }

    private void refusePast() {
        if (isPast()) {
            throw Condition.READ_ONLY.error(
                name() + " version " + version() + " is an older version, which can't be changed; leave out VERSION AS OF");
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof VersionedTable table && getClass() == other.getClass() && TableRefs.identity(ref).equals(TableRefs.identity(table.ref));
    }

    @Override
    public int hashCode() {
        return TableRefs.identity(ref).hashCode();
    }

    @Override
    public String toString() {
        return ref.toString();
    }
}
