package versioned.spark.procedure;

import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.catalog.VersionedTables;
import versioned.spark.internals.SessionTables;
import versioned.spark.internals.SparkCatalogs;
import versioned.spark.internals.SparkPython;
import versioned.spark.protocol.*;
import versioned.spark.python.Commits;
import versioned.spark.python.LocalRows;
import versioned.spark.python.Transforms;
import versioned.spark.python.Values;

/** {@code CALL <catalog>.system.<procedure>(...)}: Python describes the procedure and runs it. */
public final class VersionedProcedure implements UnboundProcedure, BoundProcedure {
    /** The parameter that names another table, of whatever catalog. */
    private static final String SOURCE = "source_table";

    private final CatalogRef catalog;
    private final List<String> fullName;
    private final Procedure procedure;
    private final ProcedureParameter[] parameters;

    public VersionedProcedure(CatalogRef catalog, List<String> fullName, Procedure procedure) {
        this.catalog = catalog;
        this.fullName = fullName;
        this.procedure = procedure;
        this.parameters = procedure.parameters().stream().map(VersionedProcedure::of).toArray(ProcedureParameter[]::new);
    }

    private static ProcedureParameter of(Parameter parameter) {
        ProcedureParameter.Builder builder = ProcedureParameter.in(parameter.name(), parameter.type());
        return (parameter.required() ? builder : builder.defaultValue("NULL")).comment(parameter.comment()).build();
    }

    @Override
    public String name() {
        return procedure.name();
    }

    @Override
    public String description() {
        return procedure.description();
    }

    @Override
    public BoundProcedure bind(StructType types) {
        return this;
    }

    @Override
    public ProcedureParameter[] parameters() {
        return parameters;
    }

    @Override
    public boolean isDeterministic() {
        return false;
    }

    @Override
    public Iterator<Scan> call(InternalRow given) {
        Map<String, String> arguments = new TreeMap<>();
        for (int i = 0; i < parameters.length; i++) {
            Object value = given.isNullAt(i) ? null : given.get(i, parameters[i].dataType());
            arguments.put(parameters[i].name(), Values.argument(value, parameters[i].dataType()));
        }
        List<String> namespace = SparkCatalogs.currentNamespace(catalog.name());
        NamedTable source = source(arguments.get(SOURCE));
        SessionTable other = sessionTable(arguments.get(SOURCE));
        String id = Commits.newId();
        CallResult found = Commits.send(new Call(catalog, fullName, namespace, arguments, source, other, null, List.of()), id);
        if (found instanceof ProcedureJob job) {
            found = Commits.send(new Call(catalog, fullName, namespace, arguments, source, other, job.job(), results(job)), id);
        }
        ProcedureRows rows = (ProcedureRows) found;
        if (rows.table() != null) {
            refresh(rows.table());
        }
        if (rows.statement() != null) {
            SparkSession.active().sql(rows.statement());
        }
        return List.<Scan>of(LocalRows.parse("VersionedProcedure " + name(), procedure.result(), rows.rows())).iterator();
    }

    /** The table of another one's name, as Spark finds it; null if it is no name, or of none of our catalogs. */
    private static NamedTable source(String name) {
        if (name == null) {
            return null;
        }
        ParserInterface parser = CatalystSqlParser$.MODULE$;
        try {
            return VersionedTables.find(SparkSession.active(), parser.parseMultipartIdentifier(name))
                .map(found -> new NamedTable(found.catalog().requests().catalog(),
                    Stream.concat(Stream.of(found.ident().namespace()), Stream.of(found.ident().name())).toList()))
                .orElse(null);
        } catch (ParseException e) {
            return null;
        }
    }

    /** The table of Spark's own catalog that has a name; null if it is no name, or there is none. */
    private static SessionTable sessionTable(String name) {
        if (name == null) {
            return null;
        }
        ParserInterface parser = CatalystSqlParser$.MODULE$;
        try {
            return SessionTables.find(SparkSession.active(), CollectionConverters.asJava(parser.parseMultipartIdentifier(name))).orElse(null);
        } catch (ParseException e) {
            return null;
        }
    }

    /** Runs the tasks of a job on executors. */
    private static List<List<String>> results(ProcedureJob job) {
        return SparkPython.collect(job.schema(), job.tasks()).stream()
            .map(row -> IntStream.range(0, row.size()).mapToObj(row::getString).toList()).toList();
    }

    /** Drops the rows of a cached table, as Spark's own statements do when they write. */
    private static void refresh(List<String> table) {
        SparkSession.active().catalog().refreshTable(
            table.stream().map(Transforms::quoted).collect(Collectors.joining(".")));
    }
}
