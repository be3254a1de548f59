package versioned.spark.protocol;

import java.util.List;
import java.util.Map;
import versioned.spark.protocol.CommonMessages.CatalogRef;
import versioned.spark.protocol.CommonMessages.Done;

/** Requests about namespaces, and their responses. See {@code connector/PROTOCOL.md}. */
public interface NamespaceMessages {
    record ListTables(CatalogRef catalog, List<String> namespace) implements Request<Names> {}

    record Names(List<String> names) {}

    record ListNamespaces(CatalogRef catalog, List<String> namespace) implements Request<Namespaces> {}

    record Namespaces(List<List<String>> namespaces) {}

    record LoadNamespace(CatalogRef catalog, List<String> namespace) implements Request<Properties> {}

    record Properties(Map<String, String> properties) {}

    record CreateNamespace(CatalogRef catalog, List<String> namespace, Map<String, String> properties)
            implements CommittingRequest<Done> {}

    record AlterNamespace(CatalogRef catalog, List<String> namespace, Map<String, String> set, List<String> unset)
            implements CommittingRequest<Done> {}

    record DropNamespace(CatalogRef catalog, List<String> namespace, boolean cascade)
            implements CommittingRequest<Done> {}
}
