package versioned.spark.extension;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Assignment;
import org.apache.spark.sql.catalyst.plans.logical.InsertAction;
import org.apache.spark.sql.catalyst.plans.logical.InsertStarAction;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeAction;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.UpdateAction;
import org.apache.spark.sql.catalyst.plans.logical.UpdateStarAction;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataType;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.catalog.EvolvingCatalog;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.catalog.VersionedTables;
import versioned.spark.internals.SparkCatalogs;
import versioned.spark.internals.SparkExpressions;
import versioned.spark.internals.SparkStatements;
import versioned.spark.python.Condition;

/**
 * Has an UPDATE or MERGE assign to the generated columns that it leaves out what they are computed from; Spark does so for an INSERT,
 * and refuses these two. A constraint of the table that they write to checks the values. This must happen before Spark loads the table.
 */
public final class ComputeGenerated extends PlanRule {
    private static final List<String> ACTIONS = List.of("matchedActions", "notMatchedActions", "notMatchedBySourceActions");
    private static final String DEFAULT = "DEFAULT";

    private final SparkSession session;

    public ComputeGenerated(SparkSession session) {
        this.session = session;
    }

    /** The table that a statement changes, and the name by which it refers to its columns. */
    private record Target(VersionedTable table, LogicalPlan relation, List<String> qualifier) {}

    @Override
    Optional<LogicalPlan> replace(LogicalPlan node) {
        if (!(node instanceof UpdateTable || node instanceof MergeIntoTable)) {
            return Optional.empty();
        }
        Optional<Target> target = target((LogicalPlan) node.productElement(0));
        target.ifPresent(found -> KeepNumbers.check(node, found.table(), assignment -> path(assignment, found), session));
        if (node instanceof MergeIntoTable merge) {
            target.ifPresent(found -> checkStars(merge, found.table()));
        }
        return target.filter(found -> !found.table().generations().isEmpty())
            .map(found -> with(assigned(node, found), 0, found.relation()));
    }

    /** Refuses * for a source that lacks a generated column: Spark's error would not say what to write instead. */
    private void checkStars(MergeIntoTable merge, VersionedTable table) {
        boolean hasStar = Stream.of(merge.matchedActions(), merge.notMatchedActions()).flatMap(actions -> CollectionConverters.asJava(actions).stream())
            .anyMatch(action -> action instanceof UpdateStarAction || action instanceof InsertStarAction);
        if (!hasStar || table.generations().isEmpty()) {
            return;
        }
        List<String> given = SparkStatements.columnsOf(session, merge.sourceTable()).stream().map(ComputeGenerated::lower).toList();
        List<String> names = Stream.of(table.columns()).map(Column::name).toList();
        Map<String, String> generations = new HashMap<>();
        table.generations().forEach((name, sql) -> generations.put(lower(name), sql));
        List<String> others = names.stream().filter(name -> !generations.containsKey(lower(name))).toList();
        names.stream().filter(name -> generations.containsKey(lower(name)) && !given.isEmpty() && !given.contains(lower(name))).forEach(name -> {
            String columns = others.stream().map(ComputeGenerated::quoted).collect(Collectors.joining(", "));
            throw Condition.NOT_SUPPORTED.error(table.name() + ": " + name + " is a generated column, which the source of MERGE lacks, and * assigns to "
                + "every column. Name the others in UPDATE SET and INSERT (" + columns + "), and it is computed; or add it to the source, as "
                + generations.get(lower(name)) + " AS " + quoted(name));
        });
    }

    private static LogicalPlan assigned(LogicalPlan node, Target target) {
        if (node instanceof UpdateTable update) {
            return with(node, SparkCatalogs.memberNamed(node, "assignments").orElseThrow(), assignments(update.assignments(), target, false));
        }
        LogicalPlan merge = node;
        for (String name : ACTIONS) {
            int place = SparkCatalogs.memberNamed(merge, name).orElseThrow();
            List<MergeAction> actions = new ArrayList<>();
            for (Object action : CollectionConverters.asJava((Seq<?>) merge.productElement(place))) {
                actions.add(assigned((MergeAction) action, target));
            }
            merge = with(merge, place, CollectionConverters.asScala(actions).toSeq());
        }
        return merge;
    }

    private static MergeAction assigned(MergeAction action, Target target) {
        Seq<Assignment> assignments = action instanceof UpdateAction update ? assignments(update.assignments(), target, false)
            : action instanceof InsertAction insert ? assignments(insert.assignments(), target, true) : null;
        return assignments == null ? action : (MergeAction) action.makeCopy(
            SparkCatalogs.members(action, SparkCatalogs.memberNamed(action, "assignments").orElseThrow(), assignments));
    }

    /** The table of a statement, if it numbers rows, or has generated columns that are not computed yet. */
    private Optional<Target> target(LogicalPlan plan) {
        if (plan instanceof SubqueryAlias alias) {
            return target(alias.child()).map(target -> new Target(target.table(), with(alias, 1, target.relation()),
                Stream.concat(strings(alias.identifier().qualifier()), Stream.of(alias.identifier().name())).toList()));
        }
        if (plan instanceof DataSourceV2Relation relation && relation.table() instanceof VersionedTable table) {
            return isPlain(table) ? Optional.empty() : Optional.of(new Target(table, with(relation, 0, computed(relation, table)), List.of()));
        }
        return plan instanceof UnresolvedRelation relation ? loaded(relation) : Optional.empty();
    }

    private static boolean isPlain(VersionedTable table) {
        return table.generations().isEmpty() && table.identities().isEmpty();
    }

    private static VersionedTable computed(DataSourceV2Relation relation, VersionedTable table) {
        return relation.catalog().nonEmpty() && relation.catalog().get() instanceof EvolvingCatalog evolving ? evolving.computed() : table.computed();
    }

    private Optional<Target> loaded(UnresolvedRelation relation) {
        return VersionedTables.find(session, relation.multipartIdentifier()).flatMap(named ->
            named.load(relation.options()).filter(table -> !isPlain(table) && !table.isPast()).map(table -> {
                LogicalPlan found = DataSourceV2Relation.create(table.computed(), Option.apply(named.catalog()), Option.apply(named.ident()),
                    relation.options(), Option.empty());
                return new Target(table, SparkCatalogs.named(found, named.catalog().name(), named.ident()),
                    strings(relation.multipartIdentifier()).toList());
            }));
    }

    private static Stream<String> strings(Seq<String> names) {
        return CollectionConverters.asJava(names).stream();
    }

    /** @param inserts whether columns without a value take their defaults, and do not stay as they are */
    private static Seq<Assignment> assignments(Seq<Assignment> assignments, Target target, boolean inserts) {
        Map<List<String>, Expression> values = new HashMap<>();
        List<Assignment> result = new ArrayList<>();
        Map<String, String> generations = new HashMap<>();
        target.table().generations().forEach((name, sql) -> generations.put(lower(name), sql));
        for (Assignment assignment : CollectionConverters.asJava(assignments)) {
            List<String> path = path(assignment, target);
            boolean isGenerated = path.size() == 1 && generations.containsKey(path.get(0));
            if (isGenerated && isDefault(assignment.value())) {
                continue;
            }
            if (isGenerated) {
                generations.remove(path.get(0));
            }
            values.put(path, assignment.value());
            result.add(assignment);
        }
        for (Column column : target.table().columns()) {
            String sql = generations.get(lower(column.name()));
            if (sql != null) {
                Expression value = SparkExpressions.withColumns(sql, parts -> value(parts, values, target, inserts));
                result.add(new Assignment(SparkExpressions.column(qualified(target, List.of(column.name()), inserts)), value));
            }
        }
        return CollectionConverters.asScala(result).toSeq();
    }

    /** The new value of a column that another one is computed from. */
    private static Expression value(List<String> path, Map<List<String>, Expression> values, Target target, boolean inserts) {
        List<String> key = path.stream().map(ComputeGenerated::lower).toList();
        for (int size = key.size(); size > 0; size--) {
            Expression value = values.get(key.subList(0, size));
            if (value != null) {
                Column column = column(target, path.get(0));
                DataType type = SparkExpressions.typeOf(column.dataType(), path.subList(1, size));
                Expression given = isDefault(value) && size == 1 ? defaultOf(column) : value;
                return SparkExpressions.field(SparkExpressions.cast(given, type), path.subList(size, path.size()));
            }
        }
        return inserts ? SparkExpressions.field(defaultOf(column(target, path.get(0))), path.subList(1, path.size()))
            : SparkExpressions.column(qualified(target, path, false));
    }

    private static Expression defaultOf(Column column) {
        String sql = column.defaultValue() == null ? "NULL" : column.defaultValue().getSql();
        return SparkExpressions.cast(SparkExpressions.parsed(sql), column.dataType());
    }

    private static Column column(Target target, String name) {
        return Stream.of(target.table().columns()).filter(column -> column.name().equalsIgnoreCase(name)).findFirst().orElseThrow();
    }

    /** A column under the name of its table; the columns of an INSERT clause have none. */
    private static List<String> qualified(Target target, List<String> path, boolean inserts) {
        return inserts ? path : Stream.concat(target.qualifier().stream(), path.stream()).toList();
    }

    private static List<String> path(Assignment assignment, Target target) {
        return assignment.key() instanceof UnresolvedAttribute key ? path(strings(key.nameParts()).toList(), target)
            : assignment.key() instanceof NamedExpression named ? path(List.of(named.name()), target) : List.of();
    }

    /** The path of a column in lower case, without the name of the table that may precede it. */
    private static List<String> path(List<String> parts, Target target) {
        for (int start = 0; start < parts.size(); start++) {
            String name = parts.get(start);
            List<String> above = parts.subList(0, start);
            if (endsWith(target.qualifier(), above) && Stream.of(target.table().columns()).anyMatch(c -> c.name().equalsIgnoreCase(name))) {
                return parts.subList(start, parts.size()).stream().map(ComputeGenerated::lower).toList();
            }
        }
        return List.of();
    }

    private static boolean endsWith(List<String> names, List<String> end) {
        int from = names.size() - end.size();
        return from >= 0 && Stream.iterate(0, i -> i < end.size(), i -> i + 1).allMatch(i -> names.get(from + i).equalsIgnoreCase(end.get(i)));
    }

    private static boolean isDefault(Expression value) {
        return value instanceof UnresolvedAttribute name && name.nameParts().size() == 1 && name.nameParts().head().equalsIgnoreCase(DEFAULT);
    }

    private static String quoted(String name) {
        return name.matches("[A-Za-z_]\\w*") ? name : "`" + name.replace("`", "``") + "`";
    }

    private static String lower(String name) {
        return name.toLowerCase(Locale.ROOT);
    }
}
