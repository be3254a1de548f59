package versioned.spark;

import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.NoSuchViewException;
import org.apache.spark.sql.catalyst.analysis.ViewAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Relation;
import org.apache.spark.sql.connector.catalog.RelationCatalog;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableSummary;
import org.apache.spark.sql.connector.catalog.View;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.catalog.CatalogRequests;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.protocol.*;
import versioned.spark.python.Commits;
import versioned.spark.python.VersionedException;
import versioned.spark.view.QueryReads;
import versioned.spark.view.Views;

/**
 * {@link VersionedCatalog} with views, for Spark 4.2 and newer. It is a class of its own since Spark 4.1 has no
 * {@code RelationCatalog} and could not load it.
 */
public final class VersionedRelationCatalog extends VersionedCatalog implements RelationCatalog {
    @Override
    public Relation loadRelation(Identifier ident) throws NoSuchTableException {
        String within = Views.within();
        LoadRelation request = new LoadRelation(requests().catalog(), CatalogRequests.name(ident), within);
        Loaded found = CatalogRequests.ofTable(ident, request);
        CatalogRequests.log(found.warnings());
        if (found.relation() instanceof LoadedView view) {
            return Views.of(view, name());
        }
        Table table = CatalogRequests.table(found.relation(), found.past());
        if (table instanceof VersionedTable loaded) {
            loaded.checkedFor(within);
        }
        return table;
    }

    /** The tables of a namespace, none of which is loaded; Spark's own summaries load each for its type. */
    @Override
    public TableSummary[] listTableSummaries(String[] namespace) throws NoSuchNamespaceException {
        return Stream.of(listTables(namespace)).map(ident -> TableSummary.of(ident, TableSummary.FOREIGN_TABLE_TYPE))
            .toArray(TableSummary[]::new);
    }

    @Override
    public boolean isView(Identifier ident) {
        try {
            return loadRelation(ident) instanceof View;
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
    public boolean viewExists(Identifier ident) {
        return isView(ident);
    }

    /** Loads a table; a view counts as missing. */
    @Override
    public Table loadTable(Identifier ident) throws NoSuchTableException {
        return RelationCatalog.super.loadTable(ident);
    }

    @Override
    public Identifier[] listViews(String[] namespace) throws NoSuchNamespaceException {
        ListViews request = new ListViews(requests().catalog(), List.of(namespace));
        return CatalogRequests.identifiers(namespace, CatalogRequests.inNamespace(namespace, request).names());
    }

    @Override
    public View createView(Identifier ident, View view) throws ViewAlreadyExistsException, NoSuchNamespaceException {
        return put(ident, view, "create");
    }

    @Override
    public View createOrReplaceView(Identifier ident, View view)
            throws ViewAlreadyExistsException, NoSuchNamespaceException {
        return put(ident, view, "create or replace");
    }

    private View put(Identifier ident, View view, String mode)
            throws ViewAlreadyExistsException, NoSuchNamespaceException {
        CatalogRequests.send(request(ident, view, mode, QueryReads.of(view.queryText())), Reason.MISSING_NAMESPACE,
            () -> new NoSuchNamespaceException(ident.namespace()), Reason.EXISTS, () -> new ViewAlreadyExistsException(ident));
        return view;
    }

    private PutView request(Identifier ident, View view, String mode, ViewReads reads) {
        return new PutView(requests().catalog(), CatalogRequests.name(ident), mode, Views.definition(view), reads);
    }

    /** Replaces a view. One that Spark copied from the old view has the same query, and stays bound to the same columns. */
    @Override
    public View replaceView(Identifier ident, View view) throws NoSuchViewException {
        ViewReads reads = Views.isCopy(view) ? null : QueryReads.of(view.queryText());
        CatalogRequests.send(request(ident, view, "replace", reads), Reason.MISSING, () -> new NoSuchViewException(ident));
        return view;
    }

    @Override
    public boolean dropView(Identifier ident) {
        return Commits.send(new DropView(requests().catalog(), CatalogRequests.name(ident))).dropped();
    }

    @Override
    public void renameView(Identifier from, Identifier to) throws NoSuchViewException, ViewAlreadyExistsException {
        RenameView request = new RenameView(requests().catalog(), CatalogRequests.name(from), CatalogRequests.name(to));
        CatalogRequests.send(request, Reason.MISSING, () -> new NoSuchViewException(from),
            Reason.EXISTS, () -> new ViewAlreadyExistsException(to));
    }
}
