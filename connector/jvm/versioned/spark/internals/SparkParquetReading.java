package versioned.spark.internals;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.parquet.ParquetOptions;
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetPartitionReaderFactory;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.connector.PredicateUtils;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;
import scala.Option;
import versioned.spark.protocol.HadoopFolder;

/** Spark's Parquet reader for segments, with fixed settings. */
public final class SparkParquetReading {
    private static final String ROW_POSITION = "_tmp_metadata_row_index"; // Spark's own name for it

    /** Settings that would change a result. */
    private static final Map<String, String> FIXED = Map.ofEntries(
        Map.entry("spark.sql.caseSensitive", "true"),
        Map.entry("spark.sql.datetime.java8API.enabled", "true"),
        Map.entry("spark.sql.files.ignoreCorruptFiles", "false"),
        Map.entry("spark.sql.files.ignoreMissingFiles", "false"),
        Map.entry("spark.sql.legacy.parquet.nanosAsLong", "false"),
        Map.entry("spark.sql.optimizer.nestedSchemaPruning.enabled", "true"),
        Map.entry("spark.sql.parquet.binaryAsString", "false"),
        Map.entry("spark.sql.parquet.datetimeRebaseModeInRead", "CORRECTED"),
        Map.entry("spark.sql.parquet.fieldId.read.enabled", "true"),
        Map.entry("spark.sql.parquet.fieldId.read.ignoreMissing", "false"),
        Map.entry("spark.sql.parquet.inferTimestampNTZ.enabled", "true"),
        Map.entry("spark.sql.parquet.int96AsTimestamp", "true"),
        Map.entry("spark.sql.parquet.int96RebaseModeInRead", "CORRECTED"),
        Map.entry("spark.sql.parquet.int96TimestampConversion", "false"),
        Map.entry("spark.sql.parquet.recordLevelFilter.enabled", "false"));

    private static final Map<String, String> OPTIONS = Map.of("datetimeRebaseMode", "CORRECTED", "int96RebaseMode",
        "CORRECTED", "ignoreCorruptFiles", "false", "ignoreMissingFiles", "false", "mergeSchema", "false");

    private final SQLConf conf;
    private final scala.collection.immutable.Map<String, String> settings;
    private final Broadcast<SerializableConfiguration> hadoop;

    private SparkParquetReading(SQLConf conf, Broadcast<SerializableConfiguration> hadoop) {
        this.conf = conf;
        this.settings = conf.getAllConfs();
        this.hadoop = hadoop;
    }

    /** The reader of one scan. */
    public static SparkParquetReading of(HadoopFolder folder) {
        SparkSession session = SparkSession.active();
        SQLConf conf = session.sessionState().conf().clone();
        Configuration hadoop = HadoopFolders.configuration(folder);
        SparkParquetConf.fix(conf, hadoop, FIXED);
        hadoop.set("spark.sql.session.timeZone", conf.sessionLocalTimeZone());
        return new SparkParquetReading(conf, SharedConfigurations.broadcast(session.sparkContext(), hadoop));
    }

    /** A way of reading files, of which also executors make factories: Spark's settings do not come with a factory. */
    public static final class Source implements Serializable {
        private final scala.collection.immutable.Map<String, String> settings;
        private final GroupConfiguration hadoop;
        private final StructType columns;
        private final StructType constants;
        private final Filter[] filters;
        private final boolean isForeign;
        private transient SQLConf conf;
        private transient SQLConf batches;

        private Source(SparkParquetReading reading, StructType columns, StructType constants, Filter[] filters,
                boolean isForeign) {
            this.settings = reading.settings;
            this.conf = reading.conf;
            this.hadoop = new GroupConfiguration(reading.hadoop, columns, filters.length > 0);
            this.columns = columns;
            this.constants = constants;
            this.filters = filters;
            this.isForeign = isForeign;
        }

        private Source(Source other, StructType columns) {
            this.settings = other.settings;
            this.conf = other.conf;
            this.hadoop = other.hadoop.of(columns);
            this.columns = columns;
            this.constants = other.constants;
            this.filters = other.filters;
            this.isForeign = other.isForeign;
        }

        /** Whether row groups or pages may be skipped. */
        public boolean isFiltered() {
            return filters.length > 0;
        }

        /** The same without the positions of rows. */
        public Source withoutPositions() {
            return new Source(this, new StructType(
                Arrays.stream(columns.fields()).filter(column -> !column.name().equals(ROW_POSITION)).toArray(StructField[]::new)));
        }

        /** Makes readers on the driver's behalf; of one factory, only the newest reader is open. */
        public PartitionReaderFactory factory() {
            return factory(conf);
        }

        /** Another factory of the same readers, also on executors: its reader stays open beside that of the first one. */
        public PartitionReaderFactory another() {
            return factory(conf == null ? ofSettings() : conf);
        }

        /** Makes readers of batches on executors, also if the session reads rows. */
        public synchronized PartitionReaderFactory ofBatches() {
            if (batches == null) {
                batches = conf == null ? ofSettings() : conf.clone();
                batches.setConfString("spark.sql.parquet.enableVectorizedReader", "true");
            }
            return factory(batches);
        }

        private SQLConf ofSettings() {
            SQLConf set = new SQLConf();
            settings.foreach(entry -> {
                set.setConfString(entry._1(), entry._2());
                return null;
            });
            return set;
        }

        private PartitionReaderFactory factory(SQLConf conf) {
            ParquetOptions options = new ParquetOptions(SparkCatalogs.asScala(OPTIONS), conf);
            return isForeign
                ? new ParquetPartitionReaderFactory(conf, hadoop, columns, columns, constants, filters, Option.empty(), options)
                : new SegmentReaders(conf, hadoop, columns, constants, filters, options);
        }
    }

    /**
     * A way of reading files.
     *
     * @param columns by physical name, with IDs
     * @param rowPosition whether a row's position in its file follows them
     * @param constants the constant columns, which follow these and whose values come with each file
     * @param filters in physical names; row groups are skipped by them
     * @param isForeign whether others have written the files, which may change
     */
    public Source source(StructType columns, boolean rowPosition, StructType constants,
            List<Predicate> filters, boolean isForeign) {
        StructType read = rowPosition ? columns.add(ROW_POSITION, DataTypes.LongType) : columns;
        return new Source(this, read, constants, v1(conf, filters), isForeign);
    }

    /** Hadoop's configuration, for tasks. */
    public Broadcast<SerializableConfiguration> hadoop() {
        return hadoop;
    }

    /** Filters with values of java.time, since java.sql.Date and Timestamp shift days that their calendar left out. */
    private static Filter[] v1(SQLConf conf, List<Predicate> filters) {
        return SQLConf.withExistingConf(conf, () -> PredicateUtils.toV1(
            filters.stream().filter(SparkParquetReading::isWhole).toArray(Predicate[]::new)));
    }

    /** Whether Spark translates all of a predicate: of an OR with one side that it can't translate, it keeps the other. */
    private static boolean isWhole(Predicate predicate) {
        return switch (predicate.name()) {
            case "AND", "OR", "NOT" -> Arrays.stream(predicate.children())
                .allMatch(child -> child instanceof Predicate inner && isWhole(inner));
            default -> PredicateUtils.toV1(new Predicate[] {predicate}).length == 1;
        };
    }
}
