package versioned.spark.internals;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.classic.SparkSession;
import versioned.spark.protocol.HadoopFolder;

/** Folders of tables as Hadoop reaches them. */
public final class HadoopFolders {
    private HadoopFolders() {}

    /** Hadoop's configuration for a folder, on the driver. */
    static Configuration configuration(HadoopFolder folder) {
        Configuration hadoop = SparkSession.active().sessionState().newHadoopConf();
        folder.conf().forEach(hadoop::set);
        return hadoop;
    }

    /** Whether Spark itself can read and write files in a folder, which is null if Hadoop knows none. */
    public static boolean isReachable(HadoopFolder folder) {
        if (folder == null) {
            return false;
        }
        String scheme = new Path(folder.url()).toUri().getScheme();
        if (scheme == null || scheme.equals("file")) {
            return true;
        }
        try {
            FileSystem.getFileSystemClass(scheme, configuration(folder));
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
}
