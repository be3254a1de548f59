package versioned.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.analysis.NamespaceAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.NonEmptyNamespaceException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Changelog;
import org.apache.spark.sql.connector.catalog.ChangelogContext;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.ProcedureCatalog;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.StagingTableCatalog;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalogCapability;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableWritePrivilege;
import org.apache.spark.sql.connector.catalog.TableContext;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.catalog.CatalogRequests;
import versioned.spark.catalog.Changes;
import versioned.spark.catalog.StagedVersionedTable;
import versioned.spark.catalog.TableStates;
import versioned.spark.catalog.VersionedChangelog;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.catalog.VersionedTables;
import versioned.spark.function.Functions;
import versioned.spark.internals.SparkStatements;
import versioned.spark.procedure.VersionedProcedure;
import versioned.spark.protocol.*;
import versioned.spark.python.Commits;
import versioned.spark.python.Condition;
import versioned.spark.python.Python;
import versioned.spark.python.SchemaOptions;
import versioned.spark.python.VersionedException;

/**
 * A Spark catalog of versioned tables: {@code spark.sql.catalog.<name>=versioned.spark.VersionedCatalog}, with
 * {@code .warehouse}, the folder of its tables, {@code .storage.<option>}, options of the file system, and
 * {@code .root.<name>}, external roots below which tables may have files of others. Since Spark 4.2, {@link VersionedRelationCatalog} has views as well.
 */
public class VersionedCatalog implements VersionedTables, StagingTableCatalog, SupportsNamespaces, ProcedureCatalog,
        FunctionCatalog {
    private static final String STORAGE = "storage.";
    private static final String ROOT = "root.";
    /** The external root that every catalog allows: its own warehouse, in which tables may share files. */
    private static final String WAREHOUSE_ROOT = ROOT + "this-warehouse";

    private CatalogRequests requests;

    @Override
    public void initialize(String name, CaseInsensitiveStringMap options) {
        String warehouse = options.get("warehouse");
        if (warehouse == null || warehouse.isBlank()) {
            throw Condition.INVALID_OPTION.error("the catalog " + name + " has no warehouse; set "
                + "spark.sql.catalog." + name + ".warehouse to the folder of its tables");
        }
        Map<String, String> storage = new TreeMap<>();
        options.asCaseSensitiveMap().forEach((key, value) -> {
            if (key.toLowerCase().startsWith(STORAGE)) {
                storage.put(key.substring(STORAGE.length()), value);
            } else if (key.toLowerCase().startsWith(ROOT)) {
                storage.put(key.toLowerCase(), value);
            }
        });
        storage.putIfAbsent(WAREHOUSE_ROOT, warehouse);
        requests = CatalogRequests.of(name, warehouse, storage);
    }

    @Override
    public String name() {
        return requests.catalog().name();
    }

    @Override
    public final CatalogRequests requests() {
        return requests;
    }

    @Override
    public Set<TableCatalogCapability> capabilities() {
        return Set.of(TableCatalogCapability.SUPPORT_COLUMN_DEFAULT_VALUE,
            TableCatalogCapability.SUPPORT_TABLE_CONSTRAINT,
            TableCatalogCapability.SUPPORTS_CREATE_TABLE_WITH_GENERATED_COLUMNS,
            TableCatalogCapability.SUPPORTS_CREATE_TABLE_WITH_IDENTITY_COLUMNS);
    }

    // Tables

    @Override
    public Identifier[] listTables(String[] namespace) throws NoSuchNamespaceException {
        ListTables request = new ListTables(requests.catalog(), List.of(namespace));
        return CatalogRequests.identifiers(namespace, CatalogRequests.inNamespace(namespace, request).names());
    }

    @Override
    public Table loadTable(Identifier ident) throws NoSuchTableException {
        return requests.load(ident, null, null);
    }

    /** Loads a table to write to. */
    @Override
    public Table loadTable(Identifier ident, Set<TableWritePrivilege> privileges) throws NoSuchTableException {
        return requests.loadToWrite(ident, CaseInsensitiveStringMap.empty());
    }

    @Override
    public Table loadTable(Identifier ident, String version) throws NoSuchTableException {
        return requests.load(ident, version, null);
    }

    @Override
    public Table loadTable(Identifier ident, long timestamp) throws NoSuchTableException {
        return requests.load(ident, null, timestamp);
    }

    /** Options that choose the state of a table; Spark asks for them since 4.3. */
    public Set<String> tableStateOptionKeys() {
        return TableStates.keys();
    }

    /** Loads a table in the schema that options choose; Spark calls this since 4.3. */
    public Table loadTable(Identifier ident, TableContext context, CaseInsensitiveStringMap options)
            throws NoSuchTableException {
        return TableStates.isAsked(options) ? TableStates.load(requests, ident, context, options)
            : VersionedTables.super.loadTable(ident, context, options);
    }

    /** The changes between versions of a table; Spark calls this since 4.3. */
    public Changelog loadChangelog(Identifier ident, ChangelogContext context, CaseInsensitiveStringMap options)
            throws NoSuchTableException {
        return VersionedChangelog.load(requests, ident, context, options);
    }

    /** The options by which Spark loads changes, since Spark 4.3. */
    public Set<String> changelogStateOptionKeys() {
        return SchemaOptions.keys();
    }

    @Override
    public Table createTable(Identifier ident, TableInfo info)
            throws TableAlreadyExistsException, NoSuchNamespaceException {
        return createTableLike(ident, info, null);
    }

    /** CREATE TABLE LIKE, since Spark 4.3, also copies the properties and the comment of the source. */
    public Table createTableLike(Identifier ident, TableInfo info, Table source)
            throws TableAlreadyExistsException, NoSuchNamespaceException {
        Like like = source instanceof VersionedTable table ? new Like(table.ref(), table.forPeople().properties()) : null;
        Altered created = CatalogRequests.ofNewTable(ident,
            new Create(requests.catalog(), CatalogRequests.declaration(ident, info), like));
        CatalogRequests.log(created.warnings());
        return VersionedTable.newest(created.table());
    }

    @Override
    public Table alterTable(Identifier ident, TableChange... changes) throws NoSuchTableException {
        boolean setsDefault = Stream.of(changes).anyMatch(TableChange.UpdateColumnDefaultValue.class::isInstance);
        StructType schema = setsDefault ? requests.load(ident, null, null).schema() : new StructType();
        Altered altered = CatalogRequests.ofTable(ident,
            new Alter(requests.catalog(), CatalogRequests.name(ident), Changes.of(changes, schema)));
        CatalogRequests.log(altered.warnings());
        return VersionedTable.newest(altered.table());
    }

    /** Whether there is a table; a branch or tag that a table does not have is none. */
    @Override
    public boolean tableExists(Identifier ident) {
        try {
            loadTable(ident);
            return true;
        } catch (NoSuchTableException e) {
            return false;
        } catch (Exception e) {
            if (VersionedException.isMissingVersion(e)) {
                return false;
            }
            throw VersionedException.<RuntimeException>unchecked(e);
        }
    }

    @Override
    public boolean dropTable(Identifier ident) {
        return drop(ident, false);
    }

    @Override
    public boolean purgeTable(Identifier ident) {
        return drop(ident, true);
    }

    private boolean drop(Identifier ident, boolean purge) {
        return Commits.send(new Drop(requests.catalog(), CatalogRequests.name(ident), purge)).dropped();
    }

    @Override
    public void renameTable(Identifier from, Identifier to) throws NoSuchTableException, TableAlreadyExistsException {
        Rename request = new Rename(requests.catalog(), CatalogRequests.name(from), CatalogRequests.name(to));
        CatalogRequests.log(CatalogRequests.send(request, Reason.MISSING, () -> new NoSuchTableException(from),
            Reason.EXISTS, () -> new TableAlreadyExistsException(to)).warnings());
    }

    // Tables that are created or replaced together with their rows

    @Override
    public StagedTable stageCreate(Identifier ident, TableInfo info)
            throws TableAlreadyExistsException, NoSuchNamespaceException {
        Stage request = stage(ident, info, "create");
        return StagedVersionedTable.of(request, CatalogRequests.ofNewTable(ident, request));
    }

    @Override
    public StagedTable stageReplace(Identifier ident, TableInfo info)
            throws NoSuchTableException, NoSuchNamespaceException {
        Stage request = stage(ident, info, "replace");
        return StagedVersionedTable.of(request, CatalogRequests.send(request, Reason.MISSING_NAMESPACE,
            () -> new NoSuchNamespaceException(ident.namespace()), Reason.MISSING, () -> new NoSuchTableException(ident)));
    }

    @Override
    public StagedTable stageCreateOrReplace(Identifier ident, TableInfo info) throws NoSuchNamespaceException {
        if (SparkStatements.isSavingTable() && !info.properties().containsKey(CatalogRequests.REPLACES_SCHEMA) && tableExists(ident)) {
            throw Condition.NOT_SUPPORTED.error(ident + ": mode(\"overwrite\").saveAsTable(...) would replace the table with its "
                + "partitioning and properties; set spark.sql.extensions to versioned.spark.VersionedExtensions, with which it replaces "
                + "the rows, or write writeTo(name).createOrReplace()");
        }
        Stage request = stage(ident, info, "create or replace");
        return StagedVersionedTable.of(request, CatalogRequests.inNamespace(ident.namespace(), request));
    }

    private Stage stage(Identifier ident, TableInfo info, String mode) {
        return new Stage(requests.catalog(), CatalogRequests.declaration(ident, info), mode);
    }

    // Procedures

    @Override
    public UnboundProcedure loadProcedure(Identifier ident) {
        return new VersionedProcedure(requests.catalog(), CatalogRequests.name(ident),
            Python.send(new LoadProcedure(requests.catalog(), CatalogRequests.name(ident))));
    }

    @Override
    public Identifier[] listProcedures(String[] namespace) {
        ListProcedures request = new ListProcedures(requests.catalog(), List.of(namespace));
        return CatalogRequests.identifiers(namespace, Python.send(request).names());
    }

    // Functions

    @Override
    public UnboundFunction loadFunction(Identifier ident) throws NoSuchFunctionException {
        return Functions.load(ident);
    }

    @Override
    public Identifier[] listFunctions(String[] namespace) throws NoSuchNamespaceException {
        if (Functions.isIn(namespace)) {
            return Functions.list(namespace);
        }
        loadNamespaceMetadata(namespace);
        return new Identifier[0];
    }

    // Namespaces

    @Override
    public String[][] listNamespaces() throws NoSuchNamespaceException {
        return listNamespaces(new String[0]);
    }

    @Override
    public String[][] listNamespaces(String[] namespace) throws NoSuchNamespaceException {
        ListNamespaces request = new ListNamespaces(requests.catalog(), List.of(namespace));
        return CatalogRequests.inNamespace(namespace, request).namespaces().stream()
            .map(name -> name.toArray(String[]::new)).toArray(String[][]::new);
    }

    @Override
    public Map<String, String> loadNamespaceMetadata(String[] namespace) throws NoSuchNamespaceException {
        LoadNamespace request = new LoadNamespace(requests.catalog(), List.of(namespace));
        return CatalogRequests.inNamespace(namespace, request).properties();
    }

    @Override
    public void createNamespace(String[] namespace, Map<String, String> metadata)
            throws NamespaceAlreadyExistsException {
        CatalogRequests.send(new CreateNamespace(requests.catalog(), List.of(namespace), metadata), Reason.EXISTS,
            () -> new NamespaceAlreadyExistsException(namespace));
    }

    @Override
    public void alterNamespace(String[] namespace, NamespaceChange... changes) throws NoSuchNamespaceException {
        Map<String, String> set = new TreeMap<>();
        List<String> unset = new ArrayList<>();
        for (NamespaceChange change : changes) {
            if (change instanceof NamespaceChange.SetProperty property) {
                set.put(property.property(), property.value());
            } else if (change instanceof NamespaceChange.RemoveProperty property) {
                unset.add(property.property());
            }
        }
        CatalogRequests.inNamespace(namespace, new AlterNamespace(requests.catalog(), List.of(namespace), set, unset));
    }

    @Override
    public boolean dropNamespace(String[] namespace, boolean cascade)
            throws NoSuchNamespaceException, NonEmptyNamespaceException {
        CatalogRequests.send(new DropNamespace(requests.catalog(), List.of(namespace), cascade), Reason.MISSING_NAMESPACE,
            () -> new NoSuchNamespaceException(namespace), Reason.NOT_EMPTY, () -> new NonEmptyNamespaceException(namespace));
        return true;
    }
}
