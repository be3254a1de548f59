package versioned.spark.catalog;

import com.google.common.collect.MapMaker;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import versioned.spark.internals.SparkStatements;
import versioned.spark.protocol.*;
import versioned.spark.protocol.Message.CommittingRequest;
import versioned.spark.protocol.Message.Request;
import versioned.spark.python.Commits;
import versioned.spark.python.Condition;
import versioned.spark.python.Python;
import versioned.spark.python.Refusal;
import versioned.spark.python.SchemaOptions;

/** Requests about one catalog. Refusals become Spark's own exceptions. */
public record CatalogRequests(CatalogRef catalog) {
    private static final Logger LOG = LoggerFactory.getLogger(CatalogRequests.class);

    /** The responses to requests of each analysis that runs, which end with it: the next one needs the newest version. */
    private static final Map<Object, Map<Request<?>, Object>> ANALYSES = new MapMaker().weakKeys().makeMap();

    /** Marks the declaration of a table that replaces another by the option {@code overwriteSchema}. */
    public static final String REPLACES_SCHEMA = "__replaces_schema";

    /** The requests of a catalog as Spark is configured. */
    public static CatalogRequests of(String name, String warehouse, Map<String, String> storage) {
        return new CatalogRequests(new CatalogRef(name, warehouse, new TreeMap<>(storage), null, null, null));
    }

    /** The catalog, with the schema label of the session that asks, and where it stages what it writes. */
    @Override
    public CatalogRef catalog() {
        return new CatalogRef(catalog.name(), catalog.warehouse(), catalog.storage(), SchemaOptions.label(catalog.name()),
            SparkStatements.staged(SparkStatements.STAGED_BRANCH), SparkStatements.staged(SparkStatements.STAGED_ID));
    }

    /** Sends a request, and its commit if it has one. An analysis gets one response to each request, however often it asks. */
    @SuppressWarnings("unchecked")
    public static <R> R send(Request<R> request) {
        if (request instanceof CommittingRequest<R> commit) {
            return Commits.send(commit);
        }
        Optional<Object> analysis = SparkStatements.analysis();
        return analysis.isEmpty() ? Python.send(request)
            : (R) ANALYSES.computeIfAbsent(analysis.get(), key -> new HashMap<>()).computeIfAbsent(request, Python::send);
    }

    /** Sends a request; throws an exception of Spark's if it is refused for a reason. */
    public static <R, E extends Exception> R send(Request<R> request, Reason reason, Supplier<E> exception) throws E {
        try {
            return send(request);
        } catch (Refusal refusal) {
            if (refusal.reason() == reason) {
                throw exception.get();
            }
            throw refusal;
        }
    }

    /** Sends a request; throws one of two exceptions of Spark's if it is refused for their reasons. */
    public static <R, E extends Exception, F extends Exception> R send(Request<R> request, Reason reason,
            Supplier<E> exception, Reason other, Supplier<F> otherException) throws E, F {
        try {
            return send(request, reason, exception);
        } catch (Refusal refusal) {
            if (refusal.reason() == other) {
                throw otherException.get();
            }
            throw refusal;
        }
    }

    /** Sends a request about a namespace that must exist. */
    public static <R> R inNamespace(String[] namespace, Request<R> request) throws NoSuchNamespaceException {
        return send(request, Reason.MISSING_NAMESPACE, () -> new NoSuchNamespaceException(namespace));
    }

    /** Sends a request about a table that must exist. */
    public static <R> R ofTable(Identifier ident, Request<R> request) throws NoSuchTableException {
        return send(request, Reason.MISSING, () -> new NoSuchTableException(ident));
    }

    /** Sends a request for a table that must not exist. */
    public static <R> R ofNewTable(Identifier ident, Request<R> request)
            throws TableAlreadyExistsException, NoSuchNamespaceException {
        return send(request, Reason.MISSING_NAMESPACE, () -> new NoSuchNamespaceException(ident.namespace()),
            Reason.EXISTS, () -> new TableAlreadyExistsException(ident));
    }

    /** A name as requests have it. */
    public static List<String> name(Identifier ident) {
        return Stream.concat(Stream.of(ident.namespace()), Stream.of(ident.name())).toList();
    }

    /** Loads a table or a metadata table, at a version, at a time in microseconds, or else at the newest version. */
    public Table load(Identifier ident, String version, Long timestamp) throws NoSuchTableException {
        return load(ident, version, timestamp, false, CaseInsensitiveStringMap.empty());
    }

    /**
     * Loads a table in the schema that options choose; see {@link SchemaOptions}.
     *
     * @param views whether a view counts as missing
     */
    Table load(Identifier ident, String version, Long timestamp, boolean views, CaseInsensitiveStringMap options)
            throws NoSuchTableException {
        Loaded loaded = ofTable(ident, new Load(catalog(), name(ident), version, timestamp, views,
            options.get(SchemaOptions.SCHEMA_VERSION), options.get(SchemaOptions.ON_OVERFLOW), options.get(SchemaOptions.BRANCH)));
        log(loaded.warnings());
        return table(loaded.relation(), loaded.past() || version != null || timestamp != null);
    }

    /** Loads a table to write to, in the schema that options choose; see {@link SchemaOptions}. */
    public Table loadToWrite(Identifier ident, CaseInsensitiveStringMap options) throws NoSuchTableException {
        LoadedTarget target = loadTarget(ident, options);
        Table table = table(target.loaded().relation(), target.loaded().past());
        if (table instanceof VersionedTable versioned) {
            versioned.planned(target.plan());
        }
        return table;
    }

    private LoadedTarget loadTarget(Identifier ident, CaseInsensitiveStringMap options) throws NoSuchTableException {
        LoadedTarget target = ofTable(ident, new LoadToWrite(catalog(), name(ident), options.get(SchemaOptions.SCHEMA_VERSION),
            options.get(SchemaOptions.ON_OVERFLOW), options.get(SchemaOptions.BRANCH)));
        log(target.loaded().warnings());
        return target;
    }

    /** Loads a table whose schema one statement may change in the commit of its rows. */
    public VersionedTable loadEvolving(Identifier ident) throws NoSuchTableException {
        LoadedTarget target = loadTarget(ident, CaseInsensitiveStringMap.empty());
        LoadedTable loaded = (LoadedTable) target.loaded().relation();
        if (loaded.table().seen() != null) {
            throw Condition.NOT_SUPPORTED.error(loaded.table().name() + " is seen in an earlier schema ("
                + loaded.table().seen() + "), through which a write can't change the schema; leave out WITH SCHEMA EVOLUTION and "
                + "mergeSchema, or unset " + SchemaOptions.labelKey(catalog.name()));
        }
        return VersionedTable.evolving(loaded).planned(target.plan());
    }

    /** Logs the warnings of a response. */
    public static void log(List<String> warnings) {
        warnings.forEach(LOG::warn);
    }

    /** The table of a response. */
    public static Table table(Relation loaded, boolean isPast) {
        if (loaded instanceof LoadedMetadata metadata) {
            return new MetadataTable(metadata.table(), metadata.metadata(), metadata.schema());
        }
        return isPast ? VersionedTable.past((LoadedTable) loaded) : VersionedTable.newest((LoadedTable) loaded);
    }

    /** A table as CREATE TABLE declares it. */
    public static Declaration declaration(Identifier ident, TableInfo info) {
        Map<String, String> properties = new TreeMap<>(info.properties());
        properties.remove(REPLACES_SCHEMA);
        if (SparkStatements.isStartingStream() && properties.containsKey(TableCatalog.PROP_LOCATION)) {
            // The stream would refuse the option when it runs, and the table would be there.
            throw Condition.NOT_SUPPORTED.error(String.join(".", name(ident)) + ": the option path is not supported in streams that "
                + "write by table name; create the table with a LOCATION first, and leave it out");
        }
        return new Declaration(name(ident), Columns.declared(info.columns()),
            versioned.spark.python.Transforms.texts(info.partitions()), Constraints.of(info.constraints()),
            properties, SparkStatements.namesDefaultSource() ? SQLConf.get().defaultDataSourceName() : "versioned");
    }

    /** Tables or procedures of a namespace, as Spark's identifiers. */
    public static Identifier[] identifiers(String[] namespace, List<String> names) {
        return names.stream().map(name -> Identifier.of(namespace, name)).toArray(Identifier[]::new);
    }
}
