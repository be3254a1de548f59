package versioned.spark.extension;

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
     * @param argument another parameter than the table
     * @param value a text; null leaves the argument out
     */
    static String of(VersionedTables.Named table, String procedure, String argument, String value) {
        String name = Stream.concat(Stream.of(table.ident().namespace()), Stream.of(table.ident().name()))
            .map(Transforms::quoted).collect(Collectors.joining("."));
        return "CALL " + Transforms.quoted(table.catalog().name()) + ".system." + procedure + "(table => " + text(name)
            + (value == null ? "" : ", " + argument + " => " + text(value)) + ")";
    }

    private static String text(String text) {
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
    }
}
