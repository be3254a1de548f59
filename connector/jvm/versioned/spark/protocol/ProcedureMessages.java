package versioned.spark.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import versioned.spark.protocol.CommonMessages.CatalogRef;
import versioned.spark.protocol.NamespaceMessages.Names;

/** Requests about procedures, and their responses. See {@code connector/PROTOCOL.md}. */
public interface ProcedureMessages {
    record LoadProcedure(CatalogRef catalog, List<String> name) implements Request<Procedure> {}

    record Procedure(String name, String description, List<Parameter> parameters, StructType result) {}

    record Parameter(String name, DataType type, boolean required, String comment) {}

    record ListProcedures(CatalogRef catalog, List<String> namespace) implements Request<Names> {}

    record Call(CatalogRef catalog, List<String> name, Map<String, @Nullable String> arguments,
            @Nullable ProcedureJob job, List<List<String>> results) implements CommittingRequest<CallResult> {}

    /** One of several messages. */
    sealed interface CallResult extends Variant permits ProcedureJob, ProcedureRows {}

    record ProcedureJob(String path, Map<String, String> options) implements CallResult {}

    record ProcedureRows(List<List<JsonNode>> rows, @Nullable List<String> table) implements CallResult {}
}
