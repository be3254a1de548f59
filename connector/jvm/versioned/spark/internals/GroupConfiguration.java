package versioned.spark.internals;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.JobConf;
import org.apache.parquet.hadoop.ParquetInputFormat;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.execution.datasources.parquet.ParquetReadSupport;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;
import scala.reflect.ClassTag$;

/**
 * A scan's broadcast configuration with the columns of one group of its segments. Spark's reader takes a broadcast, and one
 * broadcast for each group would take longer than the rest of a small query's planning.
 */
final class GroupConfiguration extends Broadcast<SerializableConfiguration> {
    private final Broadcast<SerializableConfiguration> scan;
    private final String columns;
    private final boolean filtered;
    private transient SerializableConfiguration value;

    /**
     * @param columns of the files
     * @param filtered whether Spark adds a filter to the configuration of each file
     */
    GroupConfiguration(Broadcast<SerializableConfiguration> scan, StructType columns, boolean filtered) {
        super(scan.id(), ClassTag$.MODULE$.apply(SerializableConfiguration.class));
        this.scan = scan;
        this.columns = columns.json();
        this.filtered = filtered;
    }

    /** That of a scan for another group. */
    GroupConfiguration of(StructType otherColumns) {
        return new GroupConfiguration(scan, otherColumns, filtered);
    }

    @Override
    public synchronized SerializableConfiguration getValue() {
        if (value == null) {
            // Spark takes a JobConf for each file as it is, and copies any other configuration, which takes most of a millisecond.
            Configuration hadoop = filtered ? new Configuration(scan.value().value()) : new JobConf(scan.value().value());
            hadoop.set(ParquetReadSupport.SPARK_ROW_REQUESTED_SCHEMA(), columns);
            hadoop.set("org.apache.spark.sql.parquet.row.attributes", columns);
            hadoop.setClassLoader(SegmentReadSupport.class.getClassLoader());
            hadoop.set(ParquetInputFormat.READ_SUPPORT_CLASS, SegmentReadSupport.class.getName());
            value = new SerializableConfiguration(hadoop);
        }
        return value;
    }

    @Override
    public void doUnpersist(boolean blocking) {
        // Other scans share the configuration.
    }

    @Override
    public void doDestroy(boolean blocking) {
        // Other scans share the configuration.
    }
}
