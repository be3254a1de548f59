package versioned.spark.internals;

import java.io.IOException;
import java.io.Serializable;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.classic.SparkSession;

/**
 * A table's folder as Hadoop reaches it.
 *
 * @param conf settings in addition to Spark's; may hold secrets, so they are never shown
 */
public record HadoopFolder(String url, Map<String, String> conf) implements Serializable {

    /** Hadoop's configuration for the folder, on the driver. */
    public Configuration configuration() {
        Configuration hadoop = SparkSession.active().sessionState().newHadoopConf();
        conf.forEach(hadoop::set);
        return hadoop;
    }

    /** Whether it is a local path. */
    boolean isLocal() {
        String scheme = new Path(url).toUri().getScheme();
        return scheme == null || scheme.equals("file");
    }

    /** Whether Spark has a file system for it. */
    public boolean isReachable() {
        if (isLocal()) {
            return true;
        }
        try {
            FileSystem.getFileSystemClass(new Path(url).toUri().getScheme(), configuration());
            return true;
        } catch (IOException e) {
            return false;
        } catch (RuntimeException e) { // Hadoop names classes for S3 and others that may be missing
            if (e.getCause() instanceof ClassNotFoundException) {
                return false;
            }
            throw e;
        }
    }

    @Override
    public String toString() {
        return url;
    }
}
