package versioned.spark.view;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.stream.StreamSupport;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchViewException;
import org.apache.spark.sql.catalyst.analysis.ViewAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.View;
import versioned.spark.catalog.CatalogQuestions;
import versioned.spark.python.Python;

/**
 * What a catalog asks about views.
 *
 * @param questions what the catalog asks
 */
public record ViewQuestions(CatalogQuestions questions) {
    /**
     * A request for a table or a view.
     *
     * @param within the view whose query asks; null if none does
     */
    public ObjectNode relation(Identifier ident, String within) {
        ObjectNode request = questions.request(ident);
        if (within != null) {
            request.set("within", Python.parse(within));
        }
        return request;
    }

    /** The views in a namespace. */
    public Identifier[] list(String[] namespace) throws NoSuchNamespaceException {
        JsonNode answer = questions.askOfNamespace("list_views", namespace);
        return StreamSupport.stream(answer.get("views").spliterator(), false)
            .map(view -> Identifier.of(namespace, view.asText())).toArray(Identifier[]::new);
    }

    /** Creates a view, or replaces one where the mode allows it. */
    public void put(Identifier ident, View view, String mode)
            throws ViewAlreadyExistsException, NoSuchNamespaceException {
        ObjectNode request = questions.request(ident).put("mode", mode);
        request.set("view", Views.json(view, new QueryReads(view.queryText())));
        if (questions.askOfNamespace("put_view", ident.namespace(), request).path("exists").asBoolean()) {
            throw new ViewAlreadyExistsException(ident);
        }
    }

    /** Replaces a view. One that Spark copied from the old has the same query, and stays bound as it was. */
    public void replace(Identifier ident, View view) throws NoSuchViewException {
        ObjectNode request = questions.request(ident).put("mode", "replace");
        request.set("view", Views.isCopy(view) ? Views.json(view) : Views.json(view, new QueryReads(view.queryText())));
        if (questions.ask("put_view", request).path("missing").asBoolean()) {
            throw new NoSuchViewException(ident);
        }
    }

    /** Drops a view; tells whether it was there. */
    public boolean drop(Identifier ident) {
        return questions.ask("drop_view", questions.request(ident)).get("dropped").asBoolean();
    }

    /** Gives a view another name. */
    public void rename(Identifier from, Identifier to) throws NoSuchViewException, ViewAlreadyExistsException {
        JsonNode answer = questions.ask("rename_view", questions.request(from, to));
        if (answer.path("missing").asBoolean()) {
            throw new NoSuchViewException(from);
        }
        if (answer.path("exists").asBoolean()) {
            throw new ViewAlreadyExistsException(to);
        }
    }
}
