package versioned.spark.scan;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

/**
 * One of several parts of a merge of overlapping segments. Each row group of a segment belongs to one part; rows of a key may
 * belong to several.
 *
 * @param members the segments by age: of rows of one key and one sequence, that of the last segment counts
 * @param index of this part
 * @param parts how many there are
 * @param least the number of parts that the size of the segments asks for; more of them are left empty if the segments have few
 *     row groups
 * @param isJoint whether keys and rows are read together
 * @param bytes size of the row groups of this part, roughly, and what opening the segments costs
 */
record MergePart(List<Member> members, int index, int parts, int least, boolean isJoint, long bytes)
        implements NativePartition.Work, Serializable {

    /**
     * A segment.
     *
     * @param group how its rows are read
     * @param file the whole file
     * @param keys how its keys are read
     * @param constants of the file when its keys are read
     * @param joint how its rows and keys are read together; null if they are not
     * @param rows number of rows in the file
     * @param distinct whether all rows are PUT rows of distinct keys
     * @param lower value text of a lower bound of the first key column; null if none is known
     * @param mark null if no row is marked
     */
    record Member(int group, PartitionedFile file, int keys, InternalRow constants, Joint joint, long rows, boolean distinct,
            String lower, SegmentMark mark) implements Serializable {}

    /**
     * How the rows and keys of a segment are read together.
     *
     * @param file the whole file, with the constants of this way of reading
     */
    record Joint(int group, PartitionedFile file) implements Serializable {}
}
