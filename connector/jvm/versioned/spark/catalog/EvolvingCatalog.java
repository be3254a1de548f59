package versioned.spark.catalog;

import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.function.Functions;
import versioned.spark.protocol.Evolve;
import versioned.spark.python.Condition;
import versioned.spark.python.Python;

/**
 * The catalog as one statement WITH SCHEMA EVOLUTION sees it. Spark alters the table while it analyses the statement; here
 * this only changes what the statement sees, until its rows are committed.
 */
public final class EvolvingCatalog implements TableCatalog, FunctionCatalog {
    private final TableCatalog catalog;
    private final Identifier ident;
    private VersionedTable table;
    private boolean isComputed;

    /** @param catalog for all tables but the one that may change */
    public EvolvingCatalog(TableCatalog catalog, Identifier ident, VersionedTable table) {
        this.catalog = catalog;
        this.ident = ident;
        this.table = table;
    }

    /** Notes that the statement computes generated columns itself, also after a change of the table; returns the table for it. */
    public VersionedTable computed() {
        isComputed = true;
        table = table.computed();
        return table;
    }

    @Override
    public void initialize(String name, CaseInsensitiveStringMap options) {
        // The catalog behind it is initialized already.
    }

    @Override
    public String name() {
        return catalog.name();
    }

    @Override
    public Identifier[] listTables(String[] namespace) {
        throw refused("list tables");
    }

    @Override
    public Table loadTable(Identifier wanted) throws NoSuchTableException {
        return wanted.equals(ident) ? table : catalog.loadTable(wanted);
    }

    @Override
    public Table alterTable(Identifier wanted, TableChange... changes) {
        if (!wanted.equals(ident)) {
            throw refused("change " + wanted);
        }
        VersionedTable evolved = VersionedTable.evolving(Python.send(new Evolve(table.ref(), Changes.of(changes, table.schema()))));
        table = isComputed ? evolved.computed() : evolved;
        return table;
    }

    @Override
    public Table createTable(Identifier wanted, TableInfo info) {
        throw refused("create " + wanted);
    }

    @Override
    public boolean dropTable(Identifier wanted) {
        throw refused("drop " + wanted);
    }

    @Override
    public void renameTable(Identifier from, Identifier to) {
        throw refused("rename " + from);
    }

    @Override
    public UnboundFunction loadFunction(Identifier wanted) throws NoSuchFunctionException {
        return Functions.load(wanted);
    }

    @Override
    public Identifier[] listFunctions(String[] namespace) {
        throw refused("list functions");
    }

    private RuntimeException refused(String what) {
        return Condition.NOT_SUPPORTED.error("a statement that writes to " + table.name() + " can't " + what);
    }
}
