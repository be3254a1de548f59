package versioned.spark.scan;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.colstats.ColumnStatistics;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import versioned.spark.catalog.TableRef;
import versioned.spark.python.Predicates;
import versioned.spark.python.Python;
import versioned.spark.python.Values;

/**
 * What Spark's optimizer is told of a scan.
 *
 * <p>The size is that of the rows in memory, which is what a broadcast or a hash table would hold; files are compressed,
 * and their size says little about it.
 */
record ScanStatistics(TableRef table, StructType wanted, List<Predicate> filters, long rows) implements Statistics {
    private record Column(OptionalLong nullCount, OptionalLong distinctCount, Optional<Object> min, Optional<Object> max)
            implements ColumnStatistics {
        static Column parse(JsonNode json) {
            DataType type = Values.type(json.get("type"));
            return new Column(count(json.get("nulls")), count(json.get("distinct")),
                Optional.ofNullable(Values.parse(json.get("least").textValue(), type)),
                Optional.ofNullable(Values.parse(json.get("greatest").textValue(), type)));
        }

        private static OptionalLong count(JsonNode json) {
            return json.isNull() ? OptionalLong.empty() : OptionalLong.of(json.asLong());
        }
    }

    @Override
    public OptionalLong sizeInBytes() {
        return OptionalLong.of(rows * Math.max(1, wanted.defaultSize()));
    }

    @Override
    public OptionalLong numRows() {
        return OptionalLong.of(rows);
    }

    /** Asked of Python only for the cost-based optimizer: nobody else looks at them. */
    @Override
    public Map<NamedReference, ColumnStatistics> columnStats() {
        SQLConf conf = SQLConf.get();
        if (!conf.cboEnabled() && !conf.planStatsEnabled()) {
            return Map.of();
        }
        ObjectNode request = table.request();
        request.set("schema", Values.type(wanted));
        request.set("filters", Predicates.json(filters));
        Map<NamedReference, ColumnStatistics> found = new HashMap<>();
        Python.ask("estimate_columns", request).get("columns")
            .forEach(json -> found.put(FieldReference.column(json.get("name").asText()), Column.parse(json)));
        return found;
    }
}
