package versioned.spark;

import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.NoSuchViewException;
import org.apache.spark.sql.catalyst.analysis.ViewAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Relation;
import org.apache.spark.sql.connector.catalog.RelationCatalog;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableWritePrivilege;
import org.apache.spark.sql.connector.catalog.View;
import versioned.spark.catalog.CatalogRequests;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.protocol.TableMessages.LoadRelation;
import versioned.spark.protocol.TableMessages.LoadedView;
import versioned.spark.view.ViewRequests;
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
        versioned.spark.protocol.TableMessages.Relation found =
            CatalogRequests.logged(CatalogRequests.ofTable(ident, request));
        if (found instanceof LoadedView view) {
            return Views.of(view, name());
        }
        Table table = CatalogRequests.table(found, false);
        if (table instanceof VersionedTable loaded) {
            loaded.checkedFor(within);
        }
        return table;
    }

    /** Loads a table; a view counts as missing. */
    @Override
    public Table loadTable(Identifier ident) throws NoSuchTableException {
        return requests().loadTableOnly(ident);
    }

    /** Loads a table to write to. */
    @Override
    public Table loadTable(Identifier ident, Set<TableWritePrivilege> privileges) throws NoSuchTableException {
        return requests().loadToWrite(ident);
    }

    @Override
    public Identifier[] listViews(String[] namespace) throws NoSuchNamespaceException {
        return views().list(namespace);
    }

    @Override
    public View createView(Identifier ident, View view) throws ViewAlreadyExistsException, NoSuchNamespaceException {
        views().put(ident, view, "create");
        return view;
    }

    @Override
    public View createOrReplaceView(Identifier ident, View view)
            throws ViewAlreadyExistsException, NoSuchNamespaceException {
        views().put(ident, view, "create or replace");
        return view;
    }

    @Override
    public View replaceView(Identifier ident, View view) throws NoSuchViewException {
        views().replace(ident, view);
        return view;
    }

    @Override
    public boolean dropView(Identifier ident) {
        return views().drop(ident);
    }

    @Override
    public void renameView(Identifier from, Identifier to) throws NoSuchViewException, ViewAlreadyExistsException {
        views().rename(from, to);
    }

    private ViewRequests views() {
        return new ViewRequests(requests().catalog());
    }
}
