package versioned.spark.internals;

import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.DateLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.DecimalLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.IntLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.StringLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.TimeUnit;
import org.apache.parquet.schema.LogicalTypeAnnotation.TimestampLogicalTypeAnnotation;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/** The row groups of Parquet files, with the bounds of a column. */
public final class RowGroups {
    private static final String FIELD_ID = "parquet.field.id";

    private RowGroups() {}

    /**
     * A row group.
     *
     * @param start where it begins in the file
     * @param firstRow the position of its first row in the file
     * @param min lower bound of the column's values in the form of Spark's rows; null if unknown
     * @param max upper bound
     */
    public record RowGroup(long start, long length, long firstRow, long rows, Object min, Object max) {}

    /** The row groups of a file, in order, with the bounds of a top-level column that has an ID. */
    public static List<RowGroup> of(Path path, Configuration hadoop, StructField column) throws IOException {
        try (ParquetFileReader file = ParquetFileReader.open(HadoopInputFile.fromPath(path, hadoop))) {
            List<RowGroup> groups = new ArrayList<>();
            String name = name(file, (int) column.metadata().getLong(FIELD_ID));
            long firstRow = 0;
            for (BlockMetaData block : file.getFooter().getBlocks()) {
                Statistics<?> statistics = statistics(block, name);
                PrimitiveType type = statistics == null ? null : statistics.type();
                boolean known = statistics != null && statistics.hasNonNullValue();
                groups.add(new RowGroup(block.getStartingPos(), block.getCompressedSize(), firstRow, block.getRowCount(),
                    known ? value(statistics.genericGetMin(), type, column.dataType()) : null,
                    known ? value(statistics.genericGetMax(), type, column.dataType()) : null));
                firstRow += block.getRowCount();
            }
            return groups;
        }
    }

    private static String name(ParquetFileReader file, int id) {
        return file.getFileMetaData().getSchema().getFields().stream()
            .filter(field -> field.getId() != null && field.getId().intValue() == id).map(field -> field.getName())
            .findFirst().orElse(null);
    }

    private static Statistics<?> statistics(BlockMetaData block, String name) {
        for (ColumnChunkMetaData chunk : block.getColumns()) {
            if (chunk.getPath().size() == 1 && chunk.getPath().toArray()[0].equals(name)) {
                return chunk.getStatistics();
            }
        }
        return null;
    }

    /** A bound as a value of the type in which the column is read; null if it is stored in another form. */
    private static Object value(Object bound, PrimitiveType stored, DataType type) {
        LogicalTypeAnnotation as = stored.getLogicalTypeAnnotation();
        if (type instanceof DecimalType decimal) {
            BigDecimal number = decimal(bound, as);
            return number == null ? null : Decimal.apply(number, decimal.precision(), decimal.scale());
        }
        if (bound instanceof Binary bytes) {
            return type instanceof StringType && as instanceof StringLogicalTypeAnnotation ? UTF8String.fromBytes(bytes.getBytes())
                : type instanceof BinaryType && as == null ? bytes.getBytes() : null;
        }
        return isAlike(as, type) && bound instanceof Number number ? number.longValue() : null;
    }

    private static BigDecimal decimal(Object bound, LogicalTypeAnnotation as) {
        int scale = as instanceof DecimalLogicalTypeAnnotation stored ? stored.getScale() : 0;
        boolean isDecimal = as instanceof DecimalLogicalTypeAnnotation;
        if (bound instanceof Number number) {
            return isDecimal || isInteger(as) ? BigDecimal.valueOf(number.longValue(), scale) : null;
        }
        return isDecimal && bound instanceof Binary bytes ? new BigDecimal(new BigInteger(bytes.getBytes()), scale) : null;
    }

    private static boolean isAlike(LogicalTypeAnnotation as, DataType type) {
        if (type instanceof IntegralType) {
            return isInteger(as);
        }
        if (type instanceof DateType) {
            return as instanceof DateLogicalTypeAnnotation;
        }
        return (type instanceof TimestampType || type instanceof TimestampNTZType)
            && as instanceof TimestampLogicalTypeAnnotation time && time.getUnit() == TimeUnit.MICROS;
    }

    private static boolean isInteger(LogicalTypeAnnotation as) {
        return as == null || as instanceof IntLogicalTypeAnnotation integer && integer.isSigned();
    }
}
