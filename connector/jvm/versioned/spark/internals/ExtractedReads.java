package versioned.spark.internals;

import java.io.IOException;
import java.time.ZoneId;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.variant.VariantCastArgs;
import org.apache.spark.sql.catalyst.expressions.variant.VariantGet;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.VariantMetadata;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.unsafe.types.VariantVal;
import scala.Option;

/** Rows with whole variants, such as those that Python reads, as rows with the fields that Spark asks for. */
public final class ExtractedReads implements PartitionReaderFactory {
    private final PartitionReaderFactory whole;
    private final StructType stored;
    private final StructType asked;

    private ExtractedReads(PartitionReaderFactory whole, StructType asked) {
        this.whole = whole;
        this.stored = VariantFields.whole(asked);
        this.asked = asked;
    }

    /** A factory of rows with whole variants as one of rows with the fields that are asked; the same if none are, null for null. */
    public static PartitionReaderFactory of(PartitionReaderFactory whole, StructType asked) {
        return whole == null || !VariantFields.isAnyAsked(asked) ? whole : new ExtractedReads(whole, asked);
    }

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
        PartitionReader<InternalRow> rows = whole.createReader(partition);
        return new PartitionReader<>() {
            @Override
            public boolean next() throws IOException {
                return rows.next();
            }

            @Override
            public InternalRow get() {
                return extracted(rows.get(), stored, asked);
            }

            @Override
            public void close() throws IOException {
                rows.close();
            }
        };
    }

    private static InternalRow extracted(InternalRow row, StructType stored, StructType asked) {
        Object[] values = new Object[asked.size()];
        for (int i = 0; i < values.length; i++) {
            DataType from = stored.fields()[i].dataType();
            DataType to = asked.fields()[i].dataType();
            Object value = row.isNullAt(i) ? null : row.get(i, from);
            values[i] = value == null || !VariantFields.isAnyAsked(to) ? value
                : VariantFields.isAsked(to) ? fields((VariantVal) value, (StructType) to)
                : extracted((InternalRow) value, (StructType) from, (StructType) to);
        }
        return new GenericInternalRow(values);
    }

    private static InternalRow fields(VariantVal variant, StructType asked) {
        Object[] values = new Object[asked.size()];
        for (int i = 0; i < values.length; i++) {
            StructField field = asked.fields()[i];
            VariantMetadata wanted = VariantMetadata.fromMetadata(field.metadata());
            if (wanted.castErrorFor().isEmpty()) {
                extract(variant, field, wanted, values, i, errorOf(asked, field.name()));
            }
        }
        return new GenericInternalRow(values);
    }

    /** The place of the field that takes what can't be cast, in place of an error; -1 if there is none. */
    private static int errorOf(StructType asked, String name) {
        for (int i = 0; i < asked.size(); i++) {
            if (VariantMetadata.fromMetadata(asked.fields()[i].metadata()).castErrorFor().contains(name)) {
                return i;
            }
        }
        return -1;
    }

    private static void extract(VariantVal variant, StructField field, VariantMetadata wanted, Object[] values, int at, int error) {
        ZoneId zone = DateTimeUtils.getZoneId(wanted.timeZoneId());
        VariantCastArgs cast = new VariantCastArgs(wanted.failOnError(), Option.apply(wanted.timeZoneId()), zone);
        try {
            values[at] = VariantGet.variantGet(variant, wanted.parsedPath(), field.dataType(), cast);
        } catch (RuntimeException e) {
            if (error < 0 || !(e instanceof SparkThrowable failed) || !"INVALID_VARIANT_CAST".equals(failed.getCondition())) {
                throw e;
            }
            values[error] = UTF8String.fromString(failed.getMessageParameters().get("value"));
        }
    }
}
