package versioned.spark.catalog;

import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.collection.immutable.Seq;
import versioned.spark.internals.SparkCatalogs;
import versioned.spark.python.SchemaOptions;

/** A catalog of versioned tables. */
public interface VersionedTables extends TableCatalog {
    /** A name in a catalog of versioned tables, without the catalog's own. */
    record Named(VersionedTables catalog, Identifier ident) {
        /** The table to read, or else the metadata table; empty if there is none, for which Spark's error has the position. */
        public Optional<Table> load() {
            try {
                return Optional.of(catalog.loadTable(ident));
            } catch (NoSuchTableException e) {
                return Optional.empty();
            }
        }

        /**
         * Whether it is a view. Where options choose the state of a table, it is asked for as Spark does next, so that the analysis
         * sends one request.
         */
        public boolean isView(CaseInsensitiveStringMap options) {
            return !(SparkCatalogs.LOADS_BY_OPTIONS && SchemaOptions.isAsked(options) && isTable(options)) && catalog.isView(ident);
        }

        private boolean isTable(CaseInsensitiveStringMap options) {
            try {
                catalog.requests().load(ident, null, null, true, options);
                return true;
            } catch (NoSuchTableException e) {
                return false;
            }
        }

        /** The table to write to, in the schema that options choose; empty if there is none, or it has no rows of its own. */
        public Optional<VersionedTable> load(CaseInsensitiveStringMap options) {
            try {
                return catalog.requests().loadToWrite(ident, options) instanceof VersionedTable table
                    ? Optional.of(table) : Optional.empty();
            } catch (NoSuchTableException e) {
                return Optional.empty();
            }
        }
    }

    /**
     * The catalog of versioned tables that a name belongs to, if it does.
     *
     * @param name as the statement has it: the current catalog and namespace may be left out
     */
    static Optional<Named> find(SparkSession session, Seq<String> name) {
        return SparkCatalogs.find(session, name).flatMap(found -> found.catalog() instanceof VersionedTables catalog
            ? Optional.of(new Named(catalog, found.ident())) : Optional.empty());
    }

    /** Whether a name is that of a view. */
    default boolean isView(Identifier ident) {
        return false;
    }

    /** Requests about the catalog. */
    CatalogRequests requests();

    /** A catalog in which one statement may change the schema of a table in the commit of its rows. */
    default EvolvingCatalog evolving(Identifier ident) throws NoSuchTableException {
        return new EvolvingCatalog(this, ident, requests().loadEvolving(ident));
    }
}
