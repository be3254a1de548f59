package versioned.spark.view;

import java.util.List;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchViewException;
import org.apache.spark.sql.catalyst.analysis.ViewAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.View;
import versioned.spark.catalog.CatalogRequests;
import versioned.spark.protocol.CommonMessages.CatalogRef;
import versioned.spark.protocol.ViewMessages.DropView;
import versioned.spark.protocol.ViewMessages.ListViews;
import versioned.spark.protocol.ViewMessages.PutView;
import versioned.spark.protocol.ViewMessages.RenameView;
import versioned.spark.protocol.ViewMessages.ViewReads;
import versioned.spark.python.Commits;
import versioned.spark.python.Refusal;
import versioned.spark.python.Refusal.Reason;

/**
 * Requests about the views of a catalog.
 *
 * @param catalog the catalog
 */
public record ViewRequests(CatalogRef catalog) {
    /** The views in a namespace. */
    public Identifier[] list(String[] namespace) throws NoSuchNamespaceException {
        ListViews request = new ListViews(catalog, List.of(namespace));
        return CatalogRequests.identifiers(namespace, CatalogRequests.inNamespace(namespace, request).names());
    }

    /** Creates a view, or replaces one if the mode allows it. */
    public void put(Identifier ident, View view, String mode)
            throws ViewAlreadyExistsException, NoSuchNamespaceException {
        try {
            CatalogRequests.inNamespace(ident.namespace(), request(ident, view, mode, QueryReads.of(view.queryText())));
        } catch (Refusal refusal) {
            if (refusal.reason() == Reason.EXISTS) {
                throw new ViewAlreadyExistsException(ident);
            }
            throw refusal;
        }
    }

    /** Replaces a view. One that Spark copied from the old view has the same query, and stays bound to the same columns. */
    public void replace(Identifier ident, View view) throws NoSuchViewException {
        ViewReads reads = Views.isCopy(view) ? null : QueryReads.of(view.queryText());
        CatalogRequests.send(request(ident, view, "replace", reads), Reason.MISSING, () -> new NoSuchViewException(ident));
    }

    private PutView request(Identifier ident, View view, String mode, ViewReads reads) {
        return new PutView(catalog, CatalogRequests.name(ident), mode, Views.definition(view), reads);
    }

    /** Drops a view; returns whether it existed. */
    public boolean drop(Identifier ident) {
        return Commits.send(new DropView(catalog, CatalogRequests.name(ident))).dropped();
    }

    /** Renames a view. */
    public void rename(Identifier from, Identifier to) throws NoSuchViewException, ViewAlreadyExistsException {
        RenameView request = new RenameView(catalog, CatalogRequests.name(from), CatalogRequests.name(to));
        try {
            CatalogRequests.send(request, Reason.MISSING, () -> new NoSuchViewException(from));
        } catch (Refusal refusal) {
            if (refusal.reason() == Reason.EXISTS) {
                throw new ViewAlreadyExistsException(to);
            }
            throw refusal;
        }
    }
}
