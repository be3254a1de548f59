package versioned.spark.extension;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedTableSpec;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.constraints.PrimaryKey;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.catalog.CatalogRequests;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.catalog.VersionedTables.Named;
import versioned.spark.catalog.VersionedTables;
import versioned.spark.internals.SparkCatalogs;
import versioned.spark.internals.SparkStatements;
import versioned.spark.protocol.CheckSave;
import versioned.spark.protocol.Declaration;
import versioned.spark.python.Condition;
import versioned.spark.python.Python;
import versioned.spark.python.SchemaOptions;
import versioned.spark.python.TableOptions;
import versioned.spark.python.Transforms;

/**
 * {@code mode("overwrite").saveAsTable(name)}, which Spark plans as CREATE OR REPLACE TABLE ... AS SELECT. Here, as in Delta,
 * it overwrites the rows of a table that is there, whose columns, partitioning, row key and properties stay; with the option
 * {@code overwriteSchema} it replaces the columns, and all else stays.
 */
record SavedTables(SparkSession session) {
    Optional<LogicalPlan> replace(LogicalPlan node) {
        return node instanceof ReplaceTableAsSelect replacing && !isDone(replacing)
            ? target(replacing.name()).flatMap(named -> replace(replacing, named)) : Optional.empty();
    }

    /** Whether this rule has made the statement; Spark runs the rule more than once. */
    private static boolean isDone(ReplaceTableAsSelect node) {
        return node.tableSpec() instanceof UnresolvedTableSpec spec && spec.properties().contains(CatalogRequests.REPLACES_SCHEMA);
    }

    /** The versioned table that a statement names; empty if it is resolved already. */
    Optional<Named> target(LogicalPlan name) {
        return name instanceof UnresolvedIdentifier ident
            ? VersionedTables.find(session, ident.nameParts()) : Optional.empty();
    }

    /** The whole name of a table, for errors. */
    static String shown(Named named) {
        return Stream.concat(Stream.of(named.catalog().name()), CatalogRequests.name(named.ident()).stream())
            .collect(Collectors.joining("."));
    }

    private Optional<LogicalPlan> replace(ReplaceTableAsSelect node, Named named) {
        String table = shown(named);
        CaseInsensitiveStringMap given = SparkCatalogs.writeOptions(node);
        Overwrites overwrites = new Overwrites(session, table, TableOptions.accepted(table, true, given, TableOptions.WRITE));
        boolean isSaved = node.orCreate() && isSaved(node, given);
        if (!isSaved && (overwrites.condition() != null || overwrites.dynamic().isPresent())) {
            Overwrites.refuse(table, overwrites.options(), "does not go with a statement that replaces the whole table; write "
                + "writeTo(name).overwrite(condition) or overwritePartitions()");
        }
        Optional<VersionedTable> existing = isSaved ? named.load(overwrites.options()) : Optional.empty();
        if (existing.isEmpty()) {
            return isSaved && overwrites.condition() != null ? Optional.of(created(node, overwrites))
                : withOptions(node, overwrites.others());
        }
        return Optional.of(overwrites.overwritesSchema() ? withSchema(node, existing.get(), overwrites)
            : overwritten(node, named, existing.get(), overwrites));
    }

    /**
     * Whether saveAsTable made the statement. Spark marks it for the format "versioned"; without a format, saveAsTable names the
     * session's default source, which SQL statements leave out. Where writeTo names another format that is the default, only the
     * stack tells it apart; over Spark Connect nothing does, and the rows are overwritten.
     */
    private static boolean isSaved(ReplaceTableAsSelect node, CaseInsensitiveStringMap options) {
        if (options.containsKey(SparkStatements.SAVES_TABLE) || SparkStatements.isSavingTable()) {
            return true;
        }
        boolean isDefault = provider(node).filter(one -> !one.equalsIgnoreCase("versioned"))
            .filter(SQLConf.get().defaultDataSourceName()::equalsIgnoreCase).isPresent();
        return isDefault && node.origin().sqlText().isEmpty() && !SparkStatements.isWritingTo();
    }

    private static Optional<String> provider(ReplaceTableAsSelect node) {
        return node.tableSpec().provider().isEmpty() ? Optional.empty() : Optional.of(node.tableSpec().provider().get());
    }

    private static Optional<LogicalPlan> withOptions(ReplaceTableAsSelect node, CaseInsensitiveStringMap options) {
        return options.equals(SparkCatalogs.writeOptions(node)) ? Optional.empty()
            : Optional.of(SparkCatalogs.withWriteOptions(node, options));
    }

    /** A new table has no rows to replace, but its rows must match the condition. */
    private LogicalPlan created(ReplaceTableAsSelect node, Overwrites overwrites) {
        LogicalPlan rows = CheckReplacedRows.checked(node.query(), overwrites.parsedCondition(),
            overwrites.condition(), overwrites.table());
        return SparkCatalogs.withWriteOptions(
            PlanRule.with(node, SparkCatalogs.memberNamed(node, "query").getAsInt(), rows),
            overwrites.others());
    }

    private LogicalPlan overwritten(ReplaceTableAsSelect node, Named named, VersionedTable existing, Overwrites overwrites) {
        check(node, named, existing);
        boolean byPartition = overwrites.dynamic().orElse(overwrites.condition() == null && SparkStatements.overwritesPartitions());
        CaseInsensitiveStringMap options = byPartition
            ? TableOptions.with(overwrites.options(), TableOptions.OVERWRITE_MODE, "dynamic") : overwrites.options();
        UnresolvedRelation relation = SparkStatements.relation(((UnresolvedIdentifier) node.name()).nameParts(), options);
        LogicalPlan write = SparkStatements.overwrite(relation, node.query(), Literal.TrueLiteral(), options, true);
        return new Overwrites(session, overwrites.table(), options).asked((V2WriteCommand) write);
    }

    /** Refuses what saveAsTable says of the table, if the table is otherwise. */
    private static void check(ReplaceTableAsSelect node, Named named, VersionedTable existing) {
        Map<String, String> properties = new TreeMap<>();
        provider(node).ifPresent(provider -> properties.put(TableCatalog.PROP_PROVIDER, provider));
        Option<String> location = node.tableSpec() instanceof UnresolvedTableSpec spec ? spec.location() : Option.empty();
        if (location.isDefined()) {
            properties.put(TableCatalog.PROP_LOCATION, location.get());
        }
        List<String> partitioning = Transforms.texts(CollectionConverters.asJava(node.partitioning()).toArray(Transform[]::new));
        Python.send(new CheckSave(existing.ref(), new Declaration(CatalogRequests.name(named.ident()), List.of(), partitioning,
            List.of(), properties, SQLConf.get().defaultDataSourceName())));
    }

    /** A table with the columns of the frame, and with all else of the one that it replaces. */
    private LogicalPlan withSchema(ReplaceTableAsSelect node, VersionedTable existing, Overwrites overwrites) {
        if (overwrites.condition() != null || overwrites.dynamic().orElse(SparkStatements.overwritesPartitions())) {
            throw Condition.INVALID_OPTION.error(overwrites.table() + ": overwriteSchema replaces the whole table, which does not go "
                + "with replaceWhere, nor with partitionOverwriteMode = dynamic of the option or the session; leave it out, or "
                + "give the option partitionOverwriteMode = static");
        }
        checkSees(existing, overwrites);
        if (node.partitioning().isEmpty()) {
            checkPartitioning(node.query(), existing, overwrites.table());
        }
        UnresolvedTableSpec spec = (UnresolvedTableSpec) node.tableSpec();
        Map<String, String> properties = new TreeMap<>(existing.ownProperties());
        properties.putAll(primaryKey(existing));
        properties.put(CatalogRequests.REPLACES_SCHEMA, "true");
        LogicalPlan partitioned = !node.partitioning().isEmpty() ? node : (LogicalPlan) node.withPartitioning(
            CollectionConverters.asScala(List.of(existing.partitioning())).toSeq());
        UnresolvedTableSpec kept = spec.copy(SparkCatalogs.asScala(properties), spec.provider(), spec.optionExpression(),
            spec.location(), Option.apply(existing.comment()), spec.collation(), spec.serde(), spec.external(), spec.constraints());
        int place = SparkCatalogs.memberNamed(partitioned, "tableSpec").getAsInt();
        return SparkCatalogs.withWriteOptions(PlanRule.with(partitioned, place, kept),
            overwrites.others());
    }

    /** Refuses to replace columns that the frame's own job can't see. */
    private static void checkSees(VersionedTable existing, Overwrites overwrites) {
        for (String option : List.of(SchemaOptions.SCHEMA_VERSION, SchemaOptions.ON_OVERFLOW)) {
            if (!overwrites.options().getOrDefault(option, "error").equalsIgnoreCase("error")) {
                throw Condition.INVALID_OPTION.error(overwrites.table() + ": overwriteSchema replaces the columns for every reader, "
                    + "so it does not go with " + option + "; leave one of them out");
            }
        }
        if (existing.ref().seen() != null) {
            throw Condition.NOT_SUPPORTED.error(overwrites.table() + ": overwriteSchema replaces the columns for every reader, so it "
                + "does not go with the schema label of the session (" + existing.ref().seen() + "); leave it out, or unset the label");
        }
    }

    /** Refuses a frame without a column by which the table is partitioned: Spark's own error does not say whose column it is. */
    private void checkPartitioning(LogicalPlan query, VersionedTable existing, String table) {
        Optional<StructType> frame = SparkStatements.schema(session, query);
        for (Transform field : existing.partitioning()) {
            for (NamedReference column : field.references()) {
                if (frame.isPresent() && !has(frame.get(), column.fieldNames()[0])) {
                    throw Condition.NOT_SUPPORTED.error(table + ": partitioning stays when the schema is overwritten, but the frame "
                        + "has no column " + column.describe() + "; add it, or give another partitionBy");
                }
            }
        }
    }

    private static boolean has(StructType frame, String column) {
        return Stream.of(frame.fieldNames()).anyMatch(name -> (boolean) SQLConf.get().resolver().apply(name, column));
    }

    /** The primary key as a property: a loaded table has it as a constraint instead, which the statement can't take over. */
    private static Map<String, String> primaryKey(VersionedTable existing) {
        return Stream.of(existing.constraints()).filter(PrimaryKey.class::isInstance).map(PrimaryKey.class::cast).collect(
            Collectors.toMap(key -> "primary_key",
                key -> Stream.of(key.columns()).map(NamedReference::describe).collect(Collectors.joining(", "))));
    }
}
