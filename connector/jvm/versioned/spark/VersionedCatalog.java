package versioned.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.apache.spark.sql.catalyst.analysis.NamespaceAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.NonEmptyNamespaceException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
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
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.catalog.CatalogQuestions;
import versioned.spark.catalog.EvolvingCatalog;
import versioned.spark.catalog.StagedVersionedTable;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.function.Functions;
import versioned.spark.internals.SparkStreams;
import versioned.spark.procedure.VersionedProcedure;
import versioned.spark.python.Condition;

/**
 * A Spark catalog of versioned tables: {@code spark.sql.catalog.<name>=versioned.spark.VersionedCatalog}, with
 * {@code .warehouse}, the folder where its tables are, and {@code .storage.<option>}, what it is opened with. From Spark
 * 4.2 on, {@link VersionedRelationCatalog} has views as well.
 */
public class VersionedCatalog implements StagingTableCatalog, SupportsNamespaces, ProcedureCatalog, FunctionCatalog {
    private static final String STORAGE = "storage.";

    private CatalogQuestions questions;

    @Override
    public void initialize(String name, CaseInsensitiveStringMap options) {
        String warehouse = options.get("warehouse");
        if (warehouse == null || warehouse.isBlank()) {
            throw Condition.INVALID_OPTION.error("the catalog " + name + " has no warehouse; set "
                + "spark.sql.catalog." + name + ".warehouse to the folder where its tables are");
        }
        Map<String, String> storage = new TreeMap<>();
        options.asCaseSensitiveMap().forEach((key, value) -> {
            if (key.toLowerCase().startsWith(STORAGE)) {
                storage.put(key.substring(STORAGE.length()), value);
            }
        });
        questions = new CatalogQuestions(name, warehouse, storage);
    }

    @Override
    public String name() {
        return questions.catalog();
    }

    final CatalogQuestions questions() {
        return questions;
    }

    @Override
    public Set<TableCatalogCapability> capabilities() {
        return Set.of(TableCatalogCapability.SUPPORT_COLUMN_DEFAULT_VALUE,
            TableCatalogCapability.SUPPORT_TABLE_CONSTRAINT);
    }

    // Tables

    @Override
    public Identifier[] listTables(String[] namespace) throws NoSuchNamespaceException {
        JsonNode answer = questions.askOfNamespace("list_tables", namespace);
        return StreamSupport.stream(answer.get("tables").spliterator(), false)
            .map(table -> Identifier.of(namespace, table.asText())).toArray(Identifier[]::new);
    }

    @Override
    public Table loadTable(Identifier ident) throws NoSuchTableException {
        return questions.load(ident, questions.request(ident), false);
    }

    @Override
    public Table loadTable(Identifier ident, String version) throws NoSuchTableException {
        return questions.load(ident, questions.request(ident).put("version", version), true);
    }

    @Override
    public Table loadTable(Identifier ident, long timestamp) throws NoSuchTableException {
        return questions.load(ident, questions.request(ident).put("timestamp", timestamp), true);
    }

    /** Spark asks this before it starts a stream to a table, and would make the table where there is none. */
    @Override
    public boolean tableExists(Identifier ident) {
        if (SparkStreams.isStarting()) {
            questions.ask("write_stream", questions.request(ident));
        }
        return StagingTableCatalog.super.tableExists(ident);
    }

    @Override
    public Table createTable(Identifier ident, TableInfo info)
            throws TableAlreadyExistsException, NoSuchNamespaceException {
        return VersionedTable.newest(questions.created(ident, "create", questions.declaration(ident, info)));
    }

    /** CREATE TABLE LIKE, which Spark has for catalogs since 4.3: with the properties and the comment of the source, too. */
    public Table createTableLike(Identifier ident, TableInfo info, Table source)
            throws TableAlreadyExistsException, NoSuchNamespaceException {
        ObjectNode request = questions.declaration(ident, info);
        if (source instanceof VersionedTable like) {
            ObjectNode told = like.ref().request();
            like.properties().forEach(told.putObject("properties")::put);
            request.set("like", told);
        }
        return VersionedTable.newest(questions.created(ident, "create", request));
    }

    @Override
    public Table alterTable(Identifier ident, TableChange... changes) throws NoSuchTableException {
        return VersionedTable.newest(questions.loaded(ident, "alter", questions.alteration(ident, changes)));
    }

    @Override
    public boolean dropTable(Identifier ident) {
        return questions.ask("drop", questions.request(ident).put("purge", false)).get("dropped").asBoolean();
    }

    @Override
    public boolean purgeTable(Identifier ident) {
        return questions.ask("drop", questions.request(ident).put("purge", true)).get("dropped").asBoolean();
    }

    @Override
    public void renameTable(Identifier from, Identifier to) throws NoSuchTableException, TableAlreadyExistsException {
        questions.rename(from, to);
    }

    // Tables with their first rows, or in the place of others

    @Override
    public StagedTable stageCreate(Identifier ident, TableInfo info)
            throws TableAlreadyExistsException, NoSuchNamespaceException {
        ObjectNode request = questions.declaration(ident, info).put("mode", "create");
        return StagedVersionedTable.of(questions.created(ident, "stage", request));
    }

    @Override
    public StagedTable stageReplace(Identifier ident, TableInfo info)
            throws NoSuchTableException, NoSuchNamespaceException {
        ObjectNode request = questions.declaration(ident, info).put("mode", "replace");
        return StagedVersionedTable.of(questions.loaded(ident, "stage", request));
    }

    @Override
    public StagedTable stageCreateOrReplace(Identifier ident, TableInfo info) throws NoSuchNamespaceException {
        ObjectNode request = questions.declaration(ident, info).put("mode", "create_or_replace");
        return StagedVersionedTable.of(questions.replaced(ident, "stage", request));
    }

    /**
     * A table whose schema one statement may change in the commit of its rows.
     *
     * @return a catalog of its own, that shows the changes to that statement only
     */
    public EvolvingCatalog evolving(Identifier ident) throws NoSuchTableException {
        ObjectNode request = questions.request(ident).put("writes", true);
        return new EvolvingCatalog(this, ident, questions.loaded(ident, "load", request));
    }

    // Procedures

    @Override
    public UnboundProcedure loadProcedure(Identifier ident) {
        ObjectNode request = questions.request(ident);
        return VersionedProcedure.of(request, questions.ask("procedure", request));
    }

    @Override
    public Identifier[] listProcedures(String[] namespace) {
        JsonNode names = questions.ask("list_procedures", questions.request(namespace)).get("procedures");
        return Stream.of(CatalogQuestions.parts(names)).map(name -> Identifier.of(namespace, name))
            .toArray(Identifier[]::new);
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
        questions.askOfNamespace("load_namespace", namespace);
        return new Identifier[0];
    }

    // Namespaces

    @Override
    public String[][] listNamespaces() throws NoSuchNamespaceException {
        return listNamespaces(new String[0]);
    }

    @Override
    public String[][] listNamespaces(String[] namespace) throws NoSuchNamespaceException {
        JsonNode answer = questions.askOfNamespace("list_namespaces", namespace);
        return StreamSupport.stream(answer.get("namespaces").spliterator(), false)
            .map(CatalogQuestions::parts).toArray(String[][]::new);
    }

    @Override
    public Map<String, String> loadNamespaceMetadata(String[] namespace) throws NoSuchNamespaceException {
        return CatalogQuestions.texts(questions.askOfNamespace("load_namespace", namespace).get("properties"));
    }

    @Override
    public void createNamespace(String[] namespace, Map<String, String> metadata)
            throws NamespaceAlreadyExistsException {
        ObjectNode request = questions.request(namespace);
        metadata.forEach(request.putObject("properties")::put);
        if (questions.ask("create_namespace", request).path("exists").asBoolean()) {
            throw new NamespaceAlreadyExistsException(namespace);
        }
    }

    @Override
    public void alterNamespace(String[] namespace, NamespaceChange... changes) throws NoSuchNamespaceException {
        ObjectNode request = questions.request(namespace);
        ObjectNode set = request.putObject("set");
        ArrayNode unset = request.putArray("unset");
        for (NamespaceChange change : changes) {
            if (change instanceof NamespaceChange.SetProperty property) {
                set.put(property.property(), property.value());
            } else if (change instanceof NamespaceChange.RemoveProperty property) {
                unset.add(property.property());
            }
        }
        questions.askOfNamespace("alter_namespace", namespace, request);
    }

    @Override
    public boolean dropNamespace(String[] namespace, boolean cascade)
            throws NoSuchNamespaceException, NonEmptyNamespaceException {
        ObjectNode request = questions.request(namespace).put("cascade", cascade);
        if (questions.askOfNamespace("drop_namespace", namespace, request).path("not_empty").asBoolean()) {
            throw new NonEmptyNamespaceException(namespace);
        }
        return true;
    }
}
