package versioned.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Optional;
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
import versioned.spark.catalog.VersionedTable;
import versioned.spark.view.ViewQuestions;
import versioned.spark.view.Views;

/**
 * {@link VersionedCatalog} with views, for Spark 4.2 and newer. It is a class of its own since Spark 4.1 has no
 * {@code RelationCatalog} and could not load it.
 */
public final class VersionedRelationCatalog extends VersionedCatalog implements RelationCatalog {
    @Override
    public Relation loadRelation(Identifier ident) throws NoSuchTableException {
        String within = Views.within();
        JsonNode answer = questions().ask("load_relation", views().relation(ident, within));
        Optional<View> view = Views.parse(answer, name());
        if (view.isPresent()) {
            return view.get();
        }
        Table table = questions().relation(ident, answer);
        if (table instanceof VersionedTable loaded) {
            loaded.checkedFor(within);
        }
        return table;
    }

    /** A table; a view is none here. */
    @Override
    public Table loadTable(Identifier ident) throws NoSuchTableException {
        return questions().load(ident, questions().request(ident).put("views", true), false);
    }

    /** A table that is written to. */
    @Override
    public Table loadTable(Identifier ident, Set<TableWritePrivilege> privileges) throws NoSuchTableException {
        return questions().load(ident, questions().request(ident).put("writes", true), false);
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

    private ViewQuestions views() {
        return new ViewQuestions(questions());
    }
}
