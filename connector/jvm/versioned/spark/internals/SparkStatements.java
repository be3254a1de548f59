package versioned.spark.internals;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.catalyst.analysis.NamedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.connector.catalog.SupportsV1OverwriteWithSaveAsTable;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** How Spark runs statements, queries and streams. */
public final class SparkStatements {
    /** Iceberg's settings of a session that stages what it writes. */
    public static final String STAGED_BRANCH = "spark.wap.branch";

    public static final String STAGED_ID = "spark.wap.id";

    private static final String STREAM_WRITER = ".DataStreamWriter";
    private static final String TABLE_WRITER = ".DataFrameWriter";
    private static final String NAMED_WRITER = ".DataFrameWriterV2";
    private static final String CATALOG = ".Catalog";
    private static final String ANALYSIS = "org.apache.spark.sql.catalyst.analysis.AnalysisContext";
    private static final String EXECUTION = "org.apache.spark.sql.execution.QueryExecution";
    // Spark's StreamExecution.QUERY_ID_KEY and MicroBatchExecution.BATCH_ID_KEY, whose packages changed in Spark 4.1.
    private static final String QUERY = "sql.streaming.queryId";
    private static final String EPOCH = "streaming.sql.batchId";

    private SparkStatements() {}

    /** Runs a statement as it was parsed, to its end. */
    public static void run(SparkSession session, LogicalPlan statement) {
        Dataset.ofRows((org.apache.spark.sql.classic.SparkSession) session, statement)
            .queryExecution().commandExecuted();
    }

    /** The only text that a statement returns. */
    public static String onlyText(SparkSession session, LogicalPlan statement) {
        Row row = (Row) Dataset.ofRows((org.apache.spark.sql.classic.SparkSession) session, statement).head();
        return row.getString(0);
    }

    /** A relation of one text. */
    public static LogicalPlan ofText(Seq<Attribute> output, String text) {
        InternalRow row = InternalRow.apply(CollectionConverters.asScala(List.<Object>of(UTF8String.fromString(text))).toSeq());
        return LocalRelation$.MODULE$.apply(output, CollectionConverters.asScala(List.of(row)).toSeq(), false, Option.empty());
    }

    /** The schema of a query, and nothing if Spark can't analyse it by itself: the whole statement tells why, or can. */
    public static Optional<StructType> schema(SparkSession session, LogicalPlan query) {
        if (query.resolved()) {
            return Optional.of(query.schema());
        }
        try {
            return Optional.of(Dataset.ofRows((org.apache.spark.sql.classic.SparkSession) session, query).schema());
        } catch (Exception e) {
            return Optional.empty();
        }
    }

    /** Spark's mark of a statement that {@code mode("overwrite").saveAsTable} made, for data sources that ask for it. */
    public static final String SAVES_TABLE = SupportsV1OverwriteWithSaveAsTable.OPTION_NAME;

    /** Whether this thread runs saveAsTable, or another method of the writer that it belongs to. */
    public static boolean isSavingTable() {
        return isRunBy(TABLE_WRITER);
    }

    /** Whether this thread runs a method of {@code writeTo}. */
    public static boolean isWritingTo() {
        return isRunBy(NAMED_WRITER);
    }

    /**
     * Whether this thread creates a table by a method that names the session's default source if its user named none: saveAsTable,
     * toTable of a stream, and {@code spark.catalog.createTable}. Statements in SQL and {@code writeTo} name what the user named.
     */
    public static boolean namesDefaultSource() {
        return isSavingTable() || isStartingStream() || isRunBy(CATALOG);
    }

    private static boolean isRunBy(String writer) {
        return StackWalker.getInstance().walk(frames -> frames.anyMatch(frame -> frame.getClassName().endsWith(writer)));
    }

    /**
     * The analysis that this thread runs, as an object by whose identity it differs from every other; empty if it runs none, as
     * where Spark executes a statement or looks whether tables have changed since they were analysed.
     */
    public static Optional<Object> analysis() {
        Optional<String> runs = StackWalker.getInstance().walk(frames -> frames.map(StackWalker.StackFrame::getClassName)
            .filter(name -> name.startsWith(ANALYSIS) || name.startsWith(EXECUTION)).findFirst());
        return runs.filter(name -> name.startsWith(ANALYSIS)).map(name -> AnalysisContext.get().relationCache());
    }

    /** The branch, or the ID, under which the session stages what it writes, by the setting; null if it does not. */
    public static String staged(String setting) {
        String value = SQLConf.get().getConfString(setting, "").trim();
        return value.isEmpty() ? null : value;
    }

    /** The setting by which the session stages what it writes. */
    public static Optional<String> stagedBy() {
        return Stream.of(STAGED_BRANCH, STAGED_ID).filter(setting -> staged(setting) != null).findFirst();
    }

    /**
     * Who commits and why: Spark's user and application, and the message that the session sets, or that it sets for Delta; and the
     * setting by which it stages what it writes.
     */
    public static Map<String, String> author() {
        SparkContext context = SparkSession.active().sparkContext();
        Map<String, String> author = new TreeMap<>(Map.of("user", context.sparkUser(), "application", context.applicationId()));
        String message = SQLConf.get().getConfString("spark.versioned.commitMessage",
            SQLConf.get().getConfString("spark.databricks.delta.commitInfo.userMetadata", ""));
        if (!message.isEmpty()) {
            author.put("message", message);
        }
        stagedBy().ifPresent(setting -> author.put("staged", setting));
        return author;
    }

    /** Whether INSERT OVERWRITE of this session replaces only the partitions that its rows are in. */
    public static boolean overwritesPartitions() {
        return SQLConf.get().partitionOverwriteMode() == SQLConf.PartitionOverwriteMode$.MODULE$.DYNAMIC();
    }

    /** A condition in SQL, by names. */
    public static Expression condition(SparkSession session, String text) throws ParseException {
        return ((org.apache.spark.sql.classic.SparkSession) session).sessionState().sqlParser().parseExpression(text);
    }

    /** The plan of a query in SQL, unresolved. */
    public static LogicalPlan query(SparkSession session, String text) throws ParseException {
        return ((org.apache.spark.sql.classic.SparkSession) session).sessionState().sqlParser().parseQuery(text);
    }

    /** The parts of a name in SQL, such as {@code db.`a.b`}. */
    public static Seq<String> name(SparkSession session, String text) throws ParseException {
        return ((org.apache.spark.sql.classic.SparkSession) session).sessionState().sqlParser().parseMultipartIdentifier(text);
    }

    /** A table by its name, with options. */
    public static UnresolvedRelation relation(Seq<String> name, CaseInsensitiveStringMap options) {
        return new UnresolvedRelation(name, options, false);
    }

    /** A write that replaces the rows that match a condition. */
    public static LogicalPlan overwrite(NamedRelation table, LogicalPlan rows, Expression condition,
            CaseInsensitiveStringMap options, boolean isByName) {
        return write(OverwriteByExpression.class, isByName, table, rows, condition, SparkCatalogs.asScala(options.asCaseSensitiveMap()));
    }

    /** A write that replaces the partitions that its rows are in. */
    public static LogicalPlan overwritePartitions(NamedRelation table, LogicalPlan rows, CaseInsensitiveStringMap options,
            boolean isByName) {
        return write(OverwritePartitionsDynamic.class, isByName, table, rows, SparkCatalogs.asScala(options.asCaseSensitiveMap()));
    }

    /** Newer releases of Spark take more arguments, which are flags. */
    private static LogicalPlan write(Class<?> kind, boolean isByName, Object... given) {
        String name = isByName ? "byName" : "byPosition";
        Method method = Arrays.stream(kind.getMethods()).filter(one -> one.getName().equals(name)).findFirst().orElseThrow();
        Object[] arguments = Arrays.copyOf(given, method.getParameterCount());
        Arrays.fill(arguments, given.length, arguments.length, false);
        try {
            return (LogicalPlan) method.invoke(null, arguments);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("this release of Spark is not supported: it has another " + kind.getSimpleName(), e);
        }
    }

    /** The analysed plan of a query; nothing is run. */
    public static LogicalPlan analyzed(SparkSession session, String query) {
        return ((Dataset<?>) session.sql(query)).queryExecution().analyzed();
    }

    /** The columns of a query that is not resolved yet; none if it can't be resolved by itself. */
    public static List<String> columnsOf(SparkSession session, LogicalPlan query) {
        try {
            LogicalPlan resolved = ((org.apache.spark.sql.classic.SparkSession) session).sessionState().analyzer().execute(query);
            return resolved.resolved() ? CollectionConverters.asJava(resolved.output()).stream().map(Attribute::name).toList() : List.of();
        } catch (Exception e) {
            return List.of();
        }
    }

    /** Whether this thread starts a stream, and so looks for its target. The epochs of a stream run in another thread. */
    public static boolean isStartingStream() {
        return isRunBy(STREAM_WRITER);
    }

    /**
     * The epoch of a stream that this thread plans; empty if it plans anything else, such as a write in foreachBatch.
     *
     * @param query ID of the query whose write it plans
     */
    public static OptionalLong epoch(String query) {
        SparkContext context = SparkSession.active().sparkContext();
        String epoch = context.getLocalProperty(EPOCH); // null in continuous processing, which has no micro-batches
        return epoch != null && query.equals(context.getLocalProperty(QUERY))
            ? OptionalLong.of(Long.parseLong(epoch)) : OptionalLong.empty();
    }
}
