package versioned.spark.write;

import java.util.List;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import versioned.spark.protocol.WriteMessages.WrittenSegment;

/** The segments that a task wrote. */
record WrittenSegments(List<WrittenSegment> segments) implements WriterCommitMessage {}
