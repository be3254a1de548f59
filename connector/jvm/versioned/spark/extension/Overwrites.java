package versioned.spark.extension;

import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NamedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.catalog.VersionedTables;
import versioned.spark.internals.SparkCatalogs;
import versioned.spark.internals.SparkStatements;
import versioned.spark.python.Condition;
import versioned.spark.python.TableOptions;

/**
 * Writes by table name whose options say which rows an overwrite replaces.
 *
 * @param table the table's name in errors
 * @param options of the write, under their own names
 */
record Overwrites(SparkSession session, String table, CaseInsensitiveStringMap options) {
    /** Marks a write whose rows must match a condition, until {@link CheckReplacedRows} has seen to it. */
    static final String CONDITION = "__replaceWhere";

    private static final Set<String> OWN =
        Set.of(TableOptions.OVERWRITE_MODE, TableOptions.REPLACE_WHERE, TableOptions.OVERWRITE_SCHEMA);

    /** Refuses the options of an overwrite; {@code overwriteSchema = false} asks for nothing. */
    static void refuse(String table, CaseInsensitiveStringMap options, String why) {
        Stream.of(TableOptions.REPLACE_WHERE, TableOptions.OVERWRITE_MODE, TableOptions.OVERWRITE_SCHEMA)
            .filter(one -> options.containsKey(one) && !"false".equals(options.get(one))).findFirst().ifPresent(one -> {
                throw Condition.INVALID_OPTION.error(table + ": " + one + " " + why);
            });
    }

    /** The options that are left once a write is of the kind that they ask for. */
    CaseInsensitiveStringMap others() {
        return TableOptions.without(options, OWN);
    }

    String condition() {
        return options.get(TableOptions.REPLACE_WHERE);
    }

    /** The condition in SQL as Spark has it, by names. */
    Expression parsedCondition() {
        try {
            return SparkStatements.condition(session, condition());
        } catch (ParseException e) {
            throw Condition.INVALID_OPTION.error(table + ": replaceWhere is '" + condition() + "', which is not a SQL condition; write "
                + "it as after WHERE, as in day = '2026-01-31'");
        }
    }

    /** Whether only the partitions that the rows are in are replaced. */
    Optional<Boolean> dynamic() {
        return Optional.ofNullable(options.get(TableOptions.OVERWRITE_MODE)).map("dynamic"::equals);
    }

    boolean overwritesSchema() {
        return options.getBoolean(TableOptions.OVERWRITE_SCHEMA, false);
    }

    /** The write that the options ask for; the node itself if it is that already. */
    LogicalPlan asked(V2WriteCommand write) {
        if (overwritesSchema()) {
            throw Condition.INVALID_OPTION.error(table + ": overwriteSchema goes with mode('overwrite').saveAsTable; write that, or "
                + "writeTo(name).createOrReplace()");
        }
        if (condition() != null && dynamic().orElse(false)) {
            throw Condition.INVALID_OPTION.error(table + ": replaceWhere and partitionOverwriteMode do not go together, since each "
                + "says which rows are replaced; leave one of them out");
        }
        if (write instanceof OverwriteByExpression overwrite) {
            return asked(overwrite);
        }
        if (write instanceof OverwritePartitionsDynamic overwrite) {
            return asked(overwrite);
        }
        refuse(table, options, "goes with mode overwrite; leave it out");
        return plain(write);
    }

    private LogicalPlan asked(OverwriteByExpression write) {
        boolean replacesAll = write.deleteExpr().equals(Literal.TrueLiteral());
        if (!replacesAll) {
            refuse(table, options, "does not go with an overwrite that has a condition of its own; leave it out");
        }
        if (condition() != null) {
            return matching(write.table(), write.query(), write.isByName());
        }
        return dynamic().orElse(false) && isPartitioned(write.table())
            ? SparkStatements.overwritePartitions(relation(write.table()), write.query(), others(), write.isByName()) : plain(write);
    }

    /** By position, it is the session that chose the partitions, and the option wins; by name it is the call. */
    private LogicalPlan asked(OverwritePartitionsDynamic write) {
        if (write.isByName() && (condition() != null || !dynamic().orElse(true))) {
            refuse(table, options, "does not go with overwritePartitions(); leave it out, or write overwrite(condition)");
        }
        if (condition() != null) {
            return matching(write.table(), write.query(), false);
        }
        return dynamic().orElse(true) ? plain(write)
            : SparkStatements.overwrite(relation(write.table()), write.query(), Literal.TrueLiteral(), others(), false);
    }

    private LogicalPlan matching(Object target, LogicalPlan query, boolean isByName) {
        CaseInsensitiveStringMap marked = TableOptions.with(others(), CONDITION, condition());
        return SparkStatements.overwrite(relation(target), query, parsedCondition(), marked, isByName);
    }

    private LogicalPlan plain(V2WriteCommand write) {
        CaseInsensitiveStringMap others = others();
        LogicalPlan node = (LogicalPlan) write;
        return others.equals(SparkCatalogs.writeOptions(node)) ? node
            : SparkCatalogs.withWriteOptions((LogicalPlan) write.withNewTable(relation(write.table())), others);
    }

    /** The target with the options that are left: Spark wants those of a write and of its target to be equal. */
    private NamedRelation relation(Object target) {
        if (target instanceof UnresolvedRelation relation && !relation.options().isEmpty()) {
            return relation.copy(relation.multipartIdentifier(), others(), relation.isStreaming());
        }
        return target instanceof DataSourceV2Relation loaded && !loaded.options().isEmpty()
            ? loaded.copy(loaded.table(), loaded.output(), loaded.catalog(), loaded.identifier(), others(), loaded.timeTravelSpec())
            : (NamedRelation) target;
    }

    /** A table without partitions has no partition to choose, as in Spark's own INSERT OVERWRITE. */
    private boolean isPartitioned(Object target) {
        if (target instanceof DataSourceV2Relation loaded) {
            return loaded.table().partitioning().length > 0;
        }
        return target instanceof UnresolvedRelation relation
            && VersionedTables.find(session, relation.multipartIdentifier())
                .flatMap(named -> named.load(CaseInsensitiveStringMap.empty())).map(Table::partitioning).filter(found -> found.length > 0).isPresent();
    }
}
