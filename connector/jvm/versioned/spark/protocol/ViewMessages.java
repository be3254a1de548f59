package versioned.spark.protocol;

import java.util.List;
import versioned.spark.protocol.CommonMessages.CatalogRef;
import versioned.spark.protocol.CommonMessages.Done;
import versioned.spark.protocol.NamespaceMessages.Names;
import versioned.spark.protocol.TableMessages.Dropped;
import versioned.spark.protocol.TableMessages.ViewDefinition;

/** Requests about views, and their responses. See {@code connector/PROTOCOL.md}. */
public interface ViewMessages {
    record ListViews(CatalogRef catalog, List<String> namespace) implements Request<Names> {}

    record PutView(CatalogRef catalog, List<String> name, String mode, ViewDefinition view,
            @Nullable ViewReads reads) implements CommittingRequest<Done> {}

    record ViewReads(List<ReadColumns> tables, List<List<String>> views) {}

    record ReadColumns(TableRef table, List<List<String>> columns) {}

    record CheckViews(List<ViewTables> views) implements Request<Done> {}

    record ViewTables(String within, List<TableRef> tables) {}

    record DropView(CatalogRef catalog, List<String> name) implements CommittingRequest<Dropped> {}

    record RenameView(CatalogRef catalog, List<String> name, List<String> newName)
            implements CommittingRequest<Done> {}
}
