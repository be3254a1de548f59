package versioned.spark.view;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableSummary;
import org.apache.spark.sql.connector.catalog.View;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.protocol.LoadedView;
import versioned.spark.protocol.ViewColumn;
import versioned.spark.protocol.ViewDefinition;
import versioned.spark.python.Condition;

/** Views as Spark's class and as messages. */
public final class Views {
    /**
     * A setting during the resolution of the query of a versioned view: the view and the columns it is bound to, as an opaque
     * text of Python. Spark applies a view's settings to its query only, and says nowhere else exactly which view that is.
     */
    private static final String WITHIN = "spark.versioned.within";

    private Views() {}

    /** A view as Spark's class. */
    public static View of(LoadedView loaded, String catalog) {
        ViewDefinition view = loaded.view();
        Map<String, String> settings = new TreeMap<>(view.settings());
        settings.put(WITHIN, loaded.within());
        View.Builder builder = new View.Builder()
            .withQueryText(view.sql())
            .withCurrentCatalog(view.catalog() == null ? catalog : view.catalog())
            .withCurrentNamespace(view.namespace().toArray(String[]::new))
            .withSqlConfigs(settings)
            .withSchemaMode(view.schemaMode())
            .withQueryColumnNames(view.queryColumns().toArray(String[]::new));
        builder.withColumns(view.columns().stream().map(column -> Column.create(column.name(),
            DataType.fromDDL(column.type()), column.nullable(), column.comment(), null)).toArray(Column[]::new));
        builder.withProperties(view.properties());
        if (view.comment() != null) {
            builder.withComment(view.comment());
        }
        return builder.build();
    }

    /** The versioned view whose query Spark resolves now, as the text of its {@code LoadedView}; null in no view. */
    public static String within() {
        return SQLConf.get().getConfString(WITHIN, null);
    }

    /** The same of a view in a plan; null if it is no versioned view. */
    static String within(org.apache.spark.sql.catalyst.plans.logical.View view) {
        return CollectionConverters.asJava(view.desc().viewSQLConfigs()).get(WITHIN);
    }

    /** Whether Spark copied a view that it loaded, to change its properties, its schema mode or its column types. */
    public static boolean isCopy(View view) {
        return view.sqlConfigs().containsKey(WITHIN);
    }

    /** A view as a message. */
    public static ViewDefinition definition(View view) {
        Map<String, String> properties = new TreeMap<>(view.properties());
        if (TableSummary.METRIC_VIEW_TABLE_TYPE.equals(properties.remove(TableCatalog.PROP_TABLE_TYPE))) {
            throw Condition.NOT_SUPPORTED.error("a versioned catalog can't hold metric views; create a view of a query, or "
                + "the metric view in the session catalog");
        }
        List<ViewColumn> columns = Stream.of(view.columns()).map(column -> new ViewColumn(column.name(),
            column.dataType().sql(), column.nullable(), column.comment())).toList();
        String comment = properties.remove(TableCatalog.PROP_COMMENT);
        Map<String, String> settings = new TreeMap<>(view.sqlConfigs());
        settings.remove(WITHIN);
        return new ViewDefinition(view.queryText(), columns, List.of(view.queryColumnNames()), view.currentCatalog(),
            List.of(view.currentNamespace()), view.schemaMode(), comment, properties, settings);
    }
}
