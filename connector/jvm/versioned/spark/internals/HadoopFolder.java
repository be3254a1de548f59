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
 * @param url where it is
 * @param conf how it is opened, besides what Spark is set to; may hold secrets, so it is never shown
 */
public record HadoopFolder(String url, Map<String, String> conf) implements Serializable {

    /** Hadoop's configuration for it, on the driver. */
    public Configuration configuration() {
        Configuration hadoop = SparkSession.active().sessionState().newHadoopConf();
        conf.forEach(hadoop::set);
        return hadoop;
    }

    /** Whether it is on a disk of this machine, or looks so. */
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
        } catch (RuntimeException e) { // Hadoop names classes for S3 and others that need not be there
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
