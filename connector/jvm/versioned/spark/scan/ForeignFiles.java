package versioned.spark.scan;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.util.SerializableConfiguration;
import versioned.spark.python.Condition;

/**
 * Files that somebody else wrote, and may have changed since they were imported.
 *
 * @param hadoop settings that reach them
 */
record ForeignFiles(Broadcast<SerializableConfiguration> hadoop) implements Serializable {

    /** Refuses files that are missing, or of another size than recorded; splits of others would leave out rows. */
    void check(PartitionedFile[] files) {
        for (PartitionedFile file : files) {
            check(file.toPath(), file.fileSize());
        }
    }

    private void check(Path path, long recorded) {
        Configuration conf = hadoop.value().value();
        try {
            long found = path.getFileSystem(conf).getFileStatus(path).getLen();
            if (found != recorded) {
                throw changed(path, "has " + found + " bytes instead of " + recorded + ", its owner has changed it");
            }
        } catch (FileNotFoundException e) {
            throw changed(path, "is missing, its owner has moved or deleted it");
        } catch (IOException e) {
            throw new UncheckedIOException("can't read " + path, e);
        }
    }

    private static RuntimeException changed(Path path, String problem) {
        return Condition.TABLE_CORRUPT.error("the file " + path + " was imported in place and " + problem
            + "; restore it, import it as it is now (again => 'changed'), or remove it from the table (Table.remove_external)");
    }
}
