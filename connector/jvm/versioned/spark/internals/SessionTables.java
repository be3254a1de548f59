package versioned.spark.internals;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogUtils;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.protocol.SessionTable;

/** Tables of Spark's own catalog, {@code spark_catalog}: where their files are, and of which format. */
public final class SessionTables {
    private static final String SESSION_CATALOG = "spark_catalog";

    private SessionTables() {}

    /** The table of a name, with or without {@code spark_catalog} before it; empty for views, and if there is none. */
    public static Optional<SessionTable> find(SparkSession session, List<String> name) {
        List<String> parts = name.size() > 1 && name.get(0).equalsIgnoreCase(SESSION_CATALOG) ? name.subList(1, name.size()) : name;
        if (parts.size() > 2) {
            return Optional.empty();
        }
        SessionCatalog catalog = SparkCatalogs.sessionCatalog(session);
        String database = parts.size() == 2 ? parts.get(0) : catalog.getCurrentDatabase();
        TableIdentifier ident = new TableIdentifier(parts.get(parts.size() - 1), Option.apply(database));
        try {
            if (!catalog.databaseExists(database) || !catalog.tableExists(ident)) {
                return Optional.empty();
            }
            CatalogTable table = catalog.getTableMetadata(ident);
            return table.storage().locationUri().isEmpty() ? Optional.empty() : Optional.of(described(catalog, ident, table));
        } catch (NoSuchNamespaceException | NoSuchTableException e) {
            return Optional.empty(); // dropped meanwhile
        }
    }

    private static SessionTable described(SessionCatalog catalog, TableIdentifier ident, CatalogTable table)
            throws NoSuchNamespaceException, NoSuchTableException {
        List<String> partitions = null;
        if (table.tracksPartitionsInCatalog()) {
            partitions = CollectionConverters.asJava(catalog.listPartitions(ident, Option.empty())).stream()
                .map(partition -> CatalogUtils.URIToString(partition.location())).toList();
        }
        Option<String> provider = table.provider();
        Option<String> serde = table.storage().serde();
        return new SessionTable(ident.database().get() + "." + ident.table(), provider.isEmpty() ? "hive" : provider.get(),
            serde.isEmpty() ? null : serde.get(), CatalogUtils.URIToString(table.location()), CharVarcharUtils.getRawSchema(table.schema()),
            CollectionConverters.asJava(table.partitionColumnNames()), partitions);
    }
}
