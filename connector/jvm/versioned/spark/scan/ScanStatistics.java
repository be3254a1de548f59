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
 * @param rows an estimate of their number
 * @param bytes see {@link #size}
 */
record ScanStatistics(TableRef table, StructType wanted, List<Predicate> filters, long rows, long bytes)
        implements Statistics {
    /** The size of rows in memory over the least size that is reported for them. */
    private static final int MOST_COMPRESSED = 8;

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
        return OptionalLong.of(bytes);
    }

    /**
     * The size by which Spark decides whether to broadcast rows: their share of the files, as Spark takes it for files, which
     * its limits are made for. But at least an eighth of their size in memory, since a column of few different values takes
     * almost no space in files, and all of it in a broadcast, which Spark can't take back.
     */
    static long size(ScanPlan plan, long rows, StructType wanted, int rowWidth) {
        long width = Math.max(1, wanted.defaultSize());
        long inMemory = rows * width;
        double share = (double) rows / Math.max(1, plan.storedRows()) * Math.min(1, (double) width / Math.max(1, rowWidth));
        return Math.min(inMemory, Math.max((long) (plan.bytes() * share), inMemory / MOST_COMPRESSED));
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
