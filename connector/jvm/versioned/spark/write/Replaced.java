package versioned.spark.write;

import com.fasterxml.jackson.databind.node.ObjectNode;

/** What a write puts its rows in the place of, where a statement read it before. */
public interface Replaced {
    /** Nothing but what the mode of the write says. */
    Replaced NOTHING = new Replaced() {};

    /** Completes a commit after the query has run. */
    default ObjectNode now(ObjectNode commit) {
        return commit;
    }

    /** Completes a commit before the query runs. */
    default ObjectNode ahead(ObjectNode commit) {
        return commit;
    }
}
