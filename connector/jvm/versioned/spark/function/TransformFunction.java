package versioned.spark.function;

import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;

/** A function that equals another of the same canonical name. */
abstract class TransformFunction<T> implements ScalarFunction<T> {
    @Override
    public final boolean equals(Object other) {
        return other instanceof TransformFunction<?> that && canonicalName().equals(that.canonicalName());
    }

    @Override
    public final int hashCode() {
        return canonicalName().hashCode();
    }

    /** As plans show it. */
    @Override
    public final String toString() {
        return name();
    }
}
