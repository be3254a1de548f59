package versioned.spark.protocol;

import com.fasterxml.jackson.annotation.JsonTypeInfo;
import java.io.Serializable;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** A message; {@code records.py} generates the records of all messages from those of Python. */
public interface Message extends Serializable {
    /** A request to Python, whose response is an {@code R}. */
    interface Request<R> extends Message {}

    /** A request that commits. */
    interface CommittingRequest<R> extends Request<R> {}

    /** A message that is one of several: its JSON has the member {@code kind}. */
    @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "kind")
    interface Variant extends Message {}

    /** A member of a message that may be null. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target({ElementType.FIELD, ElementType.METHOD, ElementType.PARAMETER, ElementType.RECORD_COMPONENT, ElementType.TYPE_USE})
    @interface Nullable {}
}
