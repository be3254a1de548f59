package versioned.spark.protocol;

/** A request to Python, whose response is an {@code R}. */
public interface Request<R> {}
