package versioned.spark.write;

import java.util.List;
import org.apache.spark.sql.types.StructType;
import versioned.spark.protocol.Term;

/** A DELETE, UPDATE or MERGE of a table without a primary key: what its rows replace. */
public interface Rewrite {
    /** {@code delete}, {@code update} or {@code merge}. */
    String operation();

    /** The condition of the statement, in SQL; null if it is not known. */
    String condition();

    /** The rows that the statement read. */
    List<Term> filters();

    /** The metadata columns that Spark passes with each row that replaces another. */
    StructType carried();

    /** Whether rows that stay keep something that the statement does not see. */
    boolean keepsUnseen();

    /** Paths of the segments to replace, after the query has run. */
    List<String> removed();

    /** Paths of the segments to replace, before the query runs. */
    List<String> fixRemoved();
}
