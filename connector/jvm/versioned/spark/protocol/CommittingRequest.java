package versioned.spark.protocol;

/** A request that commits. */
public interface CommittingRequest<R> extends Request<R> {}
