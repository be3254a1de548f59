package versioned.spark.protocol;

import com.fasterxml.jackson.annotation.JsonTypeInfo;

/** A message that is one of several: its JSON has the member {@code kind}. */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "kind")
public interface Variant {}
