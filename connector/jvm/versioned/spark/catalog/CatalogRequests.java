package versioned.spark.catalog;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import versioned.spark.protocol.CommittingRequest;
import versioned.spark.protocol.CommonMessages.CatalogRef;
import versioned.spark.protocol.Request;
import versioned.spark.protocol.TableMessages.Alter;
import versioned.spark.protocol.TableMessages.Altered;
import versioned.spark.protocol.TableMessages.Create;
import versioned.spark.protocol.TableMessages.Declaration;
import versioned.spark.protocol.TableMessages.Like;
import versioned.spark.protocol.TableMessages.Load;
import versioned.spark.protocol.TableMessages.Loaded;
import versioned.spark.protocol.TableMessages.LoadedMetadata;
import versioned.spark.protocol.TableMessages.LoadedTable;
import versioned.spark.protocol.TableMessages.Relation;
import versioned.spark.protocol.TableMessages.Rename;
import versioned.spark.protocol.WriteMessages.Stage;
import versioned.spark.python.Commits;
import versioned.spark.python.Python;
import versioned.spark.python.Refusal;
import versioned.spark.python.Refusal.Reason;

/**
 * Requests about one catalog. Refusals become Spark's own exceptions.
 *
 * @param catalog the catalog
 */
public record CatalogRequests(CatalogRef catalog) {
    private static final Logger LOG = LoggerFactory.getLogger(CatalogRequests.class);

    /** The requests of a catalog as Spark is configured. */
    public static CatalogRequests of(String name, String warehouse, Map<String, String> storage) {
        return new CatalogRequests(new CatalogRef(name, warehouse, new TreeMap<>(storage)));
    }

    /** Sends a request, and its commit if it has one. */
    public static <R> R send(Request<R> request) {
        return request instanceof CommittingRequest<R> commit ? Commits.send(commit) : Python.send(request);
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

    /** Sends a request about a namespace that must exist. */
    public static <R> R inNamespace(String[] namespace, Request<R> request) throws NoSuchNamespaceException {
        return send(request, Reason.MISSING_NAMESPACE, () -> new NoSuchNamespaceException(namespace));
    }

    /** Sends a request about a table that must exist. */
    public static <R> R ofTable(Identifier ident, Request<R> request) throws NoSuchTableException {
        return send(request, Reason.MISSING, () -> new NoSuchTableException(ident));
    }

    /** Sends a request for a table that must not exist. */
    private static <R> R ofNewTable(Identifier ident, Request<R> request)
            throws TableAlreadyExistsException, NoSuchNamespaceException {
        try {
            return inNamespace(ident.namespace(), request);
        } catch (Refusal refusal) {
            if (refusal.reason() == Reason.EXISTS) {
                throw new TableAlreadyExistsException(ident);
            }
            throw refusal;
        }
    }

    /** A name as requests have it. */
    public static List<String> name(Identifier ident) {
        return Stream.concat(Stream.of(ident.namespace()), Stream.of(ident.name())).toList();
    }

    /** Loads a table or a metadata table, at a version, at a time in microseconds, or else at the newest version. */
    public Table load(Identifier ident, String version, Long timestamp) throws NoSuchTableException {
        return table(load(ident, version, timestamp, false, false), version != null || timestamp != null);
    }

    /** Loads a table that may not be a view. */
    public Table loadTableOnly(Identifier ident) throws NoSuchTableException {
        return table(load(ident, null, null, true, false), false);
    }

    /** Loads a table to write to. */
    public Table loadToWrite(Identifier ident) throws NoSuchTableException {
        return table(load(ident, null, null, false, true), false);
    }

    /** Loads a table whose schema one statement may change in the commit of its rows. */
    public VersionedTable loadEvolving(Identifier ident) throws NoSuchTableException {
        return VersionedTable.evolving((LoadedTable) load(ident, null, null, false, true));
    }

    private Relation load(Identifier ident, String version, Long timestamp, boolean views, boolean writes)
            throws NoSuchTableException {
        return logged(ofTable(ident, new Load(catalog, name(ident), version, timestamp, views, writes)));
    }

    /** What was loaded, after its warnings are logged. */
    public static Relation logged(Loaded loaded) {
        loaded.warnings().forEach(LOG::warn);
        return loaded.relation();
    }

    /** The table of a response. */
    public static Table table(Relation loaded, boolean isPast) {
        if (loaded instanceof LoadedMetadata metadata) {
            return new MetadataTable(metadata.table(), metadata.metadata(), metadata.schema());
        }
        return isPast ? VersionedTable.past((LoadedTable) loaded) : VersionedTable.newest((LoadedTable) loaded);
    }

    private static Declaration declaration(Identifier ident, TableInfo info) {
        return new Declaration(name(ident), Columns.declared(info.columns()),
            versioned.spark.python.Transforms.texts(info.partitions()), Constraints.of(info.constraints()),
            info.properties(), SQLConf.get().defaultDataSourceName());
    }

    /** Creates an empty table, like another if that is not null. */
    public Table create(Identifier ident, TableInfo info, VersionedTable like)
            throws TableAlreadyExistsException, NoSuchNamespaceException {
        Like source = like == null ? null : new Like(like.ref(), like.properties());
        return VersionedTable.newest(ofNewTable(ident, new Create(catalog, declaration(ident, info), source)));
    }

    /** Stages a table that must not exist. */
    public StagedVersionedTable stageCreate(Identifier ident, TableInfo info)
            throws TableAlreadyExistsException, NoSuchNamespaceException {
        Stage request = new Stage(catalog, declaration(ident, info), "create");
        return StagedVersionedTable.of(request, ofNewTable(ident, request));
    }

    /** Stages a table that replaces one that must exist. */
    public StagedVersionedTable stageReplace(Identifier ident, TableInfo info)
            throws NoSuchTableException, NoSuchNamespaceException {
        Stage request = new Stage(catalog, declaration(ident, info), "replace");
        try {
            return StagedVersionedTable.of(request, inNamespace(ident.namespace(), request));
        } catch (Refusal refusal) {
            if (refusal.reason() == Reason.MISSING) {
                throw new NoSuchTableException(ident);
            }
            throw refusal;
        }
    }

    /** Stages a table that may replace another. */
    public StagedVersionedTable stageCreateOrReplace(Identifier ident, TableInfo info) throws NoSuchNamespaceException {
        Stage request = new Stage(catalog, declaration(ident, info), "create or replace");
        return StagedVersionedTable.of(request, inNamespace(ident.namespace(), request));
    }

    /** Changes a table. */
    public Table alter(Identifier ident, TableChange... changes) throws NoSuchTableException {
        boolean setsDefault = Stream.of(changes).anyMatch(TableChange.UpdateColumnDefaultValue.class::isInstance);
        StructType schema = setsDefault ? ((VersionedTable) load(ident, null, null)).schema() : new StructType();
        Altered altered = ofTable(ident, new Alter(catalog, name(ident), Changes.of(changes, schema)));
        altered.warnings().forEach(LOG::warn);
        return VersionedTable.newest(altered.table());
    }

    /** Renames a table. */
    public void rename(Identifier from, Identifier to) throws NoSuchTableException, TableAlreadyExistsException {
        try {
            ofTable(from, new Rename(catalog, name(from), name(to))).warnings().forEach(LOG::warn);
        } catch (Refusal refusal) {
            if (refusal.reason() == Reason.EXISTS) {
                throw new TableAlreadyExistsException(to);
            }
            throw refusal;
        }
    }

    /** Tables or procedures of a namespace, as Spark's identifiers. */
    public static Identifier[] identifiers(String[] namespace, List<String> names) {
        return names.stream().map(name -> Identifier.of(namespace, name)).toArray(Identifier[]::new);
    }
}
