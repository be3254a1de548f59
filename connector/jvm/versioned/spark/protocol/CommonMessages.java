package versioned.spark.protocol;

import java.util.List;
import java.util.Map;
import versioned.spark.protocol.ChangeMessages.TypedValue;

/** Messages that requests share. See {@code connector/PROTOCOL.md}. */
public interface CommonMessages {
    record Handshake(long protocol) implements Request<Done> {}

    record Done() {}

    record CatalogRef(String name, String warehouse, Map<String, String> storage, @Nullable String schemaLabel) {}

    /** A filter, or a part of one. */
    sealed interface Term extends Variant permits PredicateTerm, ColumnTerm, LiteralTerm, OtherTerm {}

    record PredicateTerm(String name, List<Term> children) implements Term {}

    record ColumnTerm(List<String> path) implements Term {}

    record LiteralTerm(TypedValue literal) implements Term {}

    record OtherTerm() implements Term {}
}
