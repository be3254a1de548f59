package versioned.spark.write;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.Serializable;
import java.util.Base64;
import java.util.List;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import versioned.spark.python.Python;

/** What a task has written. */
record WrittenSegments(List<Segment> segments) implements WriterCommitMessage {

    /**
     * A segment.
     *
     * @param path in the table's folder
     * @param partition value texts
     * @param footer the end of the file from the footer on, which holds the statistics
     */
    record Segment(String path, long rows, long bytes, List<String> partition, byte[] footer) implements Serializable {
        ObjectNode json() {
            ObjectNode json = Python.JSON.createObjectNode().put("path", path).put("rows", rows).put("bytes", bytes)
                .put("footer", Base64.getEncoder().encodeToString(footer));
            json.set("partition", Python.JSON.valueToTree(partition));
            return json;
        }
    }
}
