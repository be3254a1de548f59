package versioned.spark.scan;

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
import versioned.spark.protocol.EstimateColumns;
import versioned.spark.protocol.TableRef;
import versioned.spark.python.Python;
import versioned.spark.python.Terms;
import versioned.spark.python.Values;

/**
 * Statistics of a scan for Spark's optimizer.
 *
 * <p>The size is that of the rows in memory, which is what a broadcast or a hash table would hold. The size of files, which
 * are compressed, says little about it.
 */
record ScanStatistics(TableRef table, StructType wanted, List<Predicate> filters, long rows) implements Statistics {
    private record Column(OptionalLong nullCount, OptionalLong distinctCount, Optional<Object> min, Optional<Object> max)
            implements ColumnStatistics {
        static Column of(versioned.spark.protocol.ColumnStatistics column) {
            DataType type = column.type();
            return new Column(count(column.nulls()), count(column.distinct()),
                Optional.ofNullable(Values.parse(column.least(), type)),
                Optional.ofNullable(Values.parse(column.greatest(), type)));
        }

        private static OptionalLong count(Long count) {
            return count == null ? OptionalLong.empty() : OptionalLong.of(count);
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

    /** Computed only for the cost-based optimizer, which alone uses them. */
    @Override
    public Map<NamedReference, ColumnStatistics> columnStats() {
        SQLConf conf = SQLConf.get();
        if (!conf.cboEnabled() && !conf.planStatsEnabled()) {
            return Map.of();
        }
        Map<NamedReference, ColumnStatistics> found = new HashMap<>();
        Python.send(new EstimateColumns(table, wanted, Terms.of(filters))).columns()
            .forEach(column -> found.put(FieldReference.column(column.name()), Column.of(column)));
        return found;
    }
}
