package versioned.spark.extension;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.catalog.VersionedTables;
import versioned.spark.internals.SparkStatements;
import versioned.spark.protocol.RefuseRows;
import versioned.spark.python.Python;
import versioned.spark.python.TableOptions;

/**
 * Refuses rows whose names a table lacks by an error that has the ALTER which would let them in. Spark's own error has only
 * the names, and comes as soon as the table is loaded. Runs after {@link EvolveWithRows}, which replaces the targets of
 * statements that may change their table.
 */
public final class RefuseUnknownColumns extends PlanRule {
    private final SparkSession session;

    public RefuseUnknownColumns(SparkSession session) {
        this.session = session;
    }

    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        if (node instanceof InsertIntoStatement insert && (insert.byName() || !insert.userSpecifiedCols().isEmpty())) {
            target(insert.table()).ifPresent(table -> checkInsert(insert, table));
        } else if (node instanceof V2WriteCommand write && write.isByName()) {
            target((LogicalPlan) write.table()).ifPresent(table ->
                SparkStatements.schema(session, write.query()).ifPresent(given -> check(given, table)));
        }
        return Optional.empty();
    }

    private void checkInsert(InsertIntoStatement insert, VersionedTable table) {
        List<String> names = CollectionConverters.asJava(insert.userSpecifiedCols());
        if (!insert.byName() && names.stream().allMatch(name -> field(table.schema(), name).isPresent())) {
            return;
        }
        SparkStatements.schema(session, insert.query())
            .map(given -> insert.byName() ? given : renamed(given, names))
            .ifPresent(given -> check(given, table));
    }

    private static void check(StructType given, VersionedTable table) {
        if (lacks(table.schema(), given)) {
            Python.send(new RefuseRows(table.ref(), given));
        }
    }

    /** The rows of a query under the names of a column list; none if it has another length, which Spark refuses. */
    private static StructType renamed(StructType given, List<String> names) {
        StructField[] fields = given.fields();
        if (fields.length != names.size()) {
            return new StructType();
        }
        StructType found = new StructType();
        for (int i = 0; i < fields.length; i++) {
            found = found.add(names.get(i), fields[i].dataType(), fields[i].nullable());
        }
        return found;
    }

    /** Whether rows have a name, at any depth, that a table lacks. */
    private static boolean lacks(DataType table, DataType given) {
        if (table instanceof StructType has && given instanceof StructType rows) {
            return Arrays.stream(rows.fields()).anyMatch(one ->
                field(has, one.name()).map(found -> lacks(found.dataType(), one.dataType())).orElse(true));
        }
        if (table instanceof ArrayType has && given instanceof ArrayType rows) {
            return lacks(has.elementType(), rows.elementType());
        }
        return table instanceof MapType has && given instanceof MapType rows
            && (lacks(has.keyType(), rows.keyType()) || lacks(has.valueType(), rows.valueType()));
    }

    private static Optional<StructField> field(StructType struct, String name) {
        return Arrays.stream(struct.fields()).filter(field -> field.name().equalsIgnoreCase(name)).findFirst();
    }

    /** The table that a statement writes to, if it is a versioned one whose schema the statement does not change. */
    private Optional<VersionedTable> target(LogicalPlan target) {
        if (target instanceof UnresolvedRelation relation && relation.options().containsKey(TableOptions.CHANGE_COLUMN)) {
            return Optional.empty(); // changes, which Python checks
        }
        if (target instanceof UnresolvedRelation relation) {
            return VersionedTables.find(session, relation.multipartIdentifier())
                .flatMap(named -> named.load(relation.options()));
        }
        return target instanceof DataSourceV2Relation relation && relation.table() instanceof VersionedTable table
                && relation.catalog().nonEmpty() && relation.catalog().get() instanceof VersionedTables
            ? Optional.of(table) : Optional.empty();
    }
}
