package versioned.spark.extension;

import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.catalog.VersionedTables;
import versioned.spark.internals.SparkCatalogs;
import versioned.spark.internals.SparkStatements;
import versioned.spark.python.Condition;
import versioned.spark.python.TableOptions;

/**
 * Resolves the options of reads and writes by table name before Spark looks at the names: refuses what no use honours,
 * gives each option its own name, and makes of a write the kind of write that its options ask for.
 */
public final class ResolveOptions extends PlanRule {
    private static final Set<String> OF_TIME = Set.of("versionAsOf", "timestampAsOf");

    /** Spark's node of a read of changes, since 4.3. */
    private static final String CHANGES = "RelationChanges";

    private final SparkSession session;
    private final SavedTables saved;

    public ResolveOptions(SparkSession session) {
        this.session = session;
        this.saved = new SavedTables(session);
    }

    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        if (node instanceof UnresolvedRelation relation) {
            Optional<String> table = name(relation);
            Optional<UnresolvedRelation> resolved = table.flatMap(name ->
                resolved(relation, name, relation.isStreaming() ? TableOptions.STREAM : TableOptions.READ));
            table.ifPresent(name -> refuseView(resolved.orElse(relation), name));
            return resolved.map(LogicalPlan.class::cast);
        }
        if (node.nodeName().equals(CHANGES) && node.productElement(0) instanceof UnresolvedRelation relation) {
            return name(relation).flatMap(table -> resolved(relation, table,
                relation.isStreaming() ? TableOptions.CHANGE_STREAM : TableOptions.CHANGES)).map(found -> with(node, 0, found));
        }
        if (node instanceof InsertIntoStatement insert && insert.table() instanceof UnresolvedRelation relation) {
            return name(relation).flatMap(table -> insert(insert, relation, table));
        }
        if (node instanceof V2WriteCommand write) {
            return write(write);
        }
        if (node instanceof CreateTableAsSelect create) {
            refuseOverwrite(create);
        }
        return saved.replace(node);
    }

    /** The relation with its options under their own names; empty if these are its names already. */
    private static Optional<UnresolvedRelation> resolved(UnresolvedRelation relation, String table, String use) {
        CaseInsensitiveStringMap options = TableOptions.accepted(table, true, relation.options(), use);
        return options.equals(relation.options()) ? Optional.empty()
            : Optional.of(relation.copy(relation.multipartIdentifier(), options, relation.isStreaming()));
    }

    /** Refuses options of a view, which Spark does not pass on; for a version or a time it has an error of its own. */
    private void refuseView(UnresolvedRelation relation, String name) {
        Optional<String> option = relation.options().asCaseSensitiveMap().keySet().stream()
            .filter(key -> !key.startsWith("__") && !OF_TIME.contains(key)).findFirst();
        if (option.isPresent() && VersionedTables.find(session, relation.multipartIdentifier())
                .filter(named -> named.isView(relation.options())).isPresent()) {
            throw Condition.NOT_SUPPORTED.error(name + " is a view, to whose tables Spark passes no options; leave out "
                + option.get() + ", or read the tables of its query with it");
        }
    }

    private Optional<LogicalPlan> insert(InsertIntoStatement insert, UnresolvedRelation relation, String table) {
        Optional<UnresolvedRelation> resolved = resolved(relation, table, TableOptions.WRITE);
        CaseInsensitiveStringMap options = resolved.orElse(relation).options();
        refuseInSql(table, options, TableOptions.REPLACE_WHERE, "write INSERT INTO ... REPLACE WHERE");
        refuseInSql(table, options, TableOptions.OVERWRITE_SCHEMA, "write CREATE OR REPLACE TABLE ... AS SELECT");
        String mode = options.get(TableOptions.OVERWRITE_MODE);
        if (mode == null) {
            return resolved.map(found -> with(insert, 0, found));
        }
        if (!insert.overwrite() || mode.equals("dynamic") != SparkStatements.overwritesPartitions()) {
            throw Condition.NOT_SUPPORTED.error(table + ": in SQL, the session says which rows INSERT OVERWRITE replaces; "
                + "leave out " + TableOptions.OVERWRITE_MODE + ", and SET spark.sql.sources.partitionOverwriteMode = " + mode);
        }
        return Optional.of(with(insert, 0, relation.copy(relation.multipartIdentifier(),
            TableOptions.without(options, Set.of(TableOptions.OVERWRITE_MODE)), relation.isStreaming())));
    }

    private static void refuseInSql(String table, CaseInsensitiveStringMap options, String option, String instead) {
        if (options.containsKey(option)) {
            throw Condition.NOT_SUPPORTED.error(table + ": the option " + option + " is not supported in SQL; " + instead);
        }
    }

    private Optional<LogicalPlan> write(V2WriteCommand write) {
        CaseInsensitiveStringMap given = SparkCatalogs.writeOptions((LogicalPlan) write);
        Optional<String> table = given.isEmpty() ? Optional.empty() : target((LogicalPlan) write.table());
        if (table.isEmpty()) {
            return Optional.empty();
        }
        CaseInsensitiveStringMap options = TableOptions.accepted(table.get(), true, given, TableOptions.WRITE);
        LogicalPlan replaced = new Overwrites(session, table.get(), options).asked(write);
        return replaced == write ? Optional.empty() : Optional.of(replaced);
    }

    /** Refuses options of an overwrite in a statement that only creates a table. */
    private void refuseOverwrite(CreateTableAsSelect create) {
        saved.target(create.name()).ifPresent(named -> {
            String table = SavedTables.shown(named);
            CaseInsensitiveStringMap options = TableOptions.accepted(table, true, SparkCatalogs.writeOptions(create), TableOptions.WRITE);
            Overwrites.refuse(table, options, "goes with mode overwrite; leave it out");
        });
    }

    private Optional<String> target(LogicalPlan target) {
        if (target instanceof DataSourceV2Relation loaded && loaded.table() instanceof VersionedTable table && table.isNamed()) {
            return Optional.of(table.name());
        }
        return target instanceof UnresolvedRelation relation ? name(relation) : Optional.empty();
    }

    /** The name of a versioned table with options; empty for all else. */
    private Optional<String> name(UnresolvedRelation relation) {
        return relation.options().isEmpty() ? Optional.empty()
            : VersionedTables.find(session, relation.multipartIdentifier()).map(named -> relation.multipartIdentifier().mkString("."));
    }
}
