package versioned.spark.catalog;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.ColumnDefaultValue;
import org.apache.spark.sql.connector.catalog.GenerationExpression;
import org.apache.spark.sql.connector.catalog.IdentityColumnSpec;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.expressions.LiteralValue;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import versioned.spark.internals.SparkDefaults;
import versioned.spark.protocol.DeclaredColumn;
import versioned.spark.protocol.Default;
import versioned.spark.protocol.Generation;
import versioned.spark.protocol.IdentitySpec;
import versioned.spark.protocol.LoadedColumn;
import versioned.spark.python.Values;

/** Columns as Spark's classes and as messages. */
final class Columns {
    // Python applies read defaults; Spark only requires that there is a value.
    private static final LiteralValue<Object> NO_EXISTING = new LiteralValue<>(null, DataTypes.NullType);

    // An updated row is marked where it was; a new one has no position yet.
    private static final String NOT_KEPT = "{\"__preserve_on_reinsert\":false}";

    private static final String KEPT =
        "{\"__preserve_on_delete\":false,\"__preserve_on_update\":true,\"__preserve_on_reinsert\":true}";

    // A row that is written anew has another value.
    private static final String RENEWED =
        "{\"__preserve_on_delete\":false,\"__preserve_on_update\":false,\"__preserve_on_reinsert\":false}";

    private Columns() {}

    /** @param generated the expressions of generated columns by name */
    static Column[] of(List<LoadedColumn> columns, Map<String, String> generated) {
        return columns.stream().map(column -> of(column, generated.get(column.name()))).toArray(Column[]::new);
    }

    static StructType schema(Column[] columns) {
        return new StructType(Stream.of(columns)
            .map(column -> DataTypes.createStructField(column.name(), column.dataType(), column.nullable()))
            .toArray(StructField[]::new));
    }

    private static Column of(LoadedColumn column, String generation) {
        ColumnDefaultValue value = column.defaultValue() == null ? null
            : new ColumnDefaultValue(column.defaultValue(), NO_EXISTING);
        return new Known(Long.toString(column.id()), column.name(), column.type(), column.nullable(), column.comment(),
            value, generation);
    }

    /**
     * @param unseen the columns that a copied row keeps
     * @param renewed the names of those that an updated row does not keep
     */
    static MetadataColumn[] metadata(List<LoadedColumn> columns, List<LoadedColumn> unseen, List<String> renewed) {
        Stream<MetadataColumn> known = columns.stream()
            .map(column -> new Metadata(column.name(), column.type(), column.comment(), false, NOT_KEPT));
        return Stream.concat(known, unseen.stream()
            .map(column -> new Metadata(column.name(), column.type(), column.comment(), true,
                renewed.contains(column.name()) ? RENEWED : KEPT)))
            .toArray(MetadataColumn[]::new);
    }

    static List<DeclaredColumn> declared(Column[] columns) {
        return Stream.of(columns).map(column -> new DeclaredColumn(column.name(), column.dataType(), column.nullable(),
            column.comment(), column.defaultValue() == null ? null
                : defaultOf(column.name(), column.dataType(), column.defaultValue().getSql()),
            column.generationExpression() == null ? null : new Generation(column.generationExpression(), Constraints.timeZone()),
            identityOf(column.identityColumnSpec()))).toList();
    }

    private static IdentitySpec identityOf(IdentityColumnSpec spec) {
        return spec == null ? null : new IdentitySpec(!spec.isAllowExplicitInsert(), spec.getStart(), spec.getStep());
    }

    /**
     * A DEFAULT clause with its value of now, and whether that will always be its value.
     *
     * @param column the column, for Spark's errors
     * @param type the column's; null if unknown, and then the value is left out
     */
    static Default defaultOf(String column, DataType type, String sql) {
        SparkDefaults parsed = SparkDefaults.of(sql);
        boolean constant = type != null && parsed.changing().isEmpty();
        return new Default(sql, parsed.changing(), parsed.isOneFunction(),
            constant ? Values.typed(SparkDefaults.value(column, type, sql), type) : null);
    }

    /** A column with its ID; since 4.3, Spark calls {@code id()}. */
    private record Known(String id, String name, DataType dataType, boolean nullable, String comment,
            ColumnDefaultValue defaultValue, String generationExpression) implements Column {
        /** Spark calls this since 4.3; releases before have no such class. */
        public GenerationExpression columnGenerationExpression() {
            return generationExpression == null ? null : new GenerationExpression(generationExpression);
        }

        @Override
        public IdentityColumnSpec identityColumnSpec() {
            return null;
        }

        @Override
        public String metadataInJSON() {
            return null;
        }
    }

    private record Metadata(String name, DataType dataType, String comment, boolean isNullable, String metadataInJSON)
            implements MetadataColumn {}
}
