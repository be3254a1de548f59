package versioned.spark.extension;

import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import versioned.spark.catalog.VersionedTables;
import versioned.spark.python.Transforms;

/** Calls of procedures, for statements that Spark does not have for tables of catalogs. */
final class Calls {
    private Calls() {}

    /**
     * A CALL as text.
     *
     * @param arguments SQL by parameter, besides the table
     */
    static String of(VersionedTables.Named table, String procedure, Map<String, String> arguments) {
        return call(table, procedure, "table", Stream.of(table.ident().name()), arguments);
    }

    /** The same of the namespace of a table. */
    static String ofNamespace(VersionedTables.Named table, String procedure, Map<String, String> arguments) {
        return call(table, procedure, "namespace", Stream.empty(), arguments);
    }

    private static String call(
            VersionedTables.Named table, String procedure, String parameter, Stream<String> last, Map<String, String> arguments) {
        String name = Stream.of(Stream.of(table.catalog().name()), Stream.of(table.ident().namespace()), last)
            .flatMap(part -> part).map(Transforms::quoted).collect(Collectors.joining("."));
        return "CALL " + Transforms.quoted(table.catalog().name()) + ".system." + procedure + "(" + parameter + " => " + text(name)
            + arguments.entrySet().stream().map(one -> ", " + one.getKey() + " => " + one.getValue()).collect(Collectors.joining())
            + ")";
    }

    private static String text(String text) {
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
    }
}
