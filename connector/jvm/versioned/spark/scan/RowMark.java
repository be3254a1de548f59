package versioned.spark.scan;

import java.io.Serializable;
import org.apache.hadoop.conf.Configuration;

/** Rows of a segment that are not shown. */
interface RowMark extends Serializable {
    MarkedRows load(Configuration hadoop);
}
