package versioned.spark.internals;

import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import java.util.Map;
import org.apache.parquet.hadoop.api.InitContext;
import org.apache.parquet.hadoop.api.ReadSupport.ReadContext;
import org.apache.parquet.schema.MessageType;
import org.apache.spark.sql.execution.datasources.parquet.ParquetReadSupport;
import org.apache.spark.sql.types.StructType;

/**
 * Chooses the columns of a file that Spark's vectorized reader reads, as Spark does, but of a shredded variant only those that
 * the asked fields need. An executor keeps what it chose, since most files of a table have one schema.
 */
public final class SegmentReadSupport extends ParquetReadSupport {
    /** Columns of the files whose choices are kept: some 10 MB. */
    private static final long MOST_COLUMNS = 50_000;

    private static final Cache<Choice, ReadContext> CHOSEN = CacheBuilder.newBuilder().concurrencyLevel(4)
        .maximumWeight(MOST_COLUMNS).<Choice, ReadContext>weigher((choice, context) -> 1 + choice.file().getFieldCount()).build();

    /** What the columns that are read depend on, beside settings that are the same for all scans. */
    private record Choice(String columns, MessageType file) {}

    @Override
    public ReadContext init(InitContext context) {
        String columns = context.getConfiguration().get(SPARK_ROW_REQUESTED_SCHEMA());
        Choice choice = new Choice(columns, context.getFileSchema());
        ReadContext kept = CHOSEN.getIfPresent(choice);
        if (kept == null) {
            kept = choose(super.init(context), (StructType) StructType.fromJson(columns));
            CHOSEN.put(choice, kept);
        }
        return kept;
    }

    private static ReadContext choose(ReadContext whole, StructType columns) {
        return new ReadContext(VariantColumns.clipped(whole.getRequestedSchema(), columns), Map.copyOf(whole.getReadSupportMetadata()));
    }
}
