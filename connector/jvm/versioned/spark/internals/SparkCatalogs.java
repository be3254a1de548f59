package versioned.spark.internals;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.IntStream;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias$;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.Product;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Spark's catalogs. Some types are classes in one release and interfaces in another, so methods are called by name. */
public final class SparkCatalogs {
    /** A table's name, and the catalog that it is in. */
    public record Named(CatalogPlugin catalog, Identifier ident) {}

    private static final String CATALOG = "spark.sql.catalog.";

    /** Whether a class of nodes has that method, cached since rules look at every node of every plan. */
    private static final ClassValue<Boolean> EVOLVING = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> kind) {
            return Arrays.stream(kind.getMethods()).anyMatch(method -> method.getName().equals("withSchemaEvolution"));
        }
    };

    /** Whether Spark passes the options of a relation to its catalog, as it does since 4.3. */
    public static final boolean LOADS_BY_OPTIONS = Arrays.stream(TableCatalog.class.getMethods())
        .anyMatch(method -> method.getName().equals("tableStateOptionKeys"));

    private SparkCatalogs() {}

    /** The current namespace, if the current catalog has this name; else empty. */
    public static List<String> currentNamespace(String catalog) {
        Object manager = call(call(SparkSession.active(), "sessionState"), "catalogManager");
        return ((CatalogPlugin) call(manager, "currentCatalog")).name().equals(catalog)
            ? List.of((String[]) call(manager, "currentNamespace")) : List.of();
    }

    /** Spark's own catalog of tables and temporary views. */
    static SessionCatalog sessionCatalog(SparkSession session) {
        return (SessionCatalog) call(call(session, "sessionState"), "catalog");
    }

    /** The catalog and the rest of a name; empty for a temporary view, which takes precedence. */
    public static Optional<Named> find(SparkSession session, Seq<String> name) {
        List<String> parts = CollectionConverters.asJava(name);
        Object state = call(session, "sessionState");
        if (((SessionCatalog) call(state, "catalog")).isTempView(name)) {
            return Optional.empty();
        }
        Object manager = call(state, "catalogManager");
        if (parts.size() > 1 && (boolean) call(manager, "isCatalogRegistered", parts.get(0))) {
            return Optional.of(named((CatalogPlugin) call(manager, "catalog", parts.get(0)),
                parts.subList(1, parts.size())));
        }
        List<String> whole = new ArrayList<>();
        if (parts.size() == 1) {
            whole.addAll(Arrays.asList((String[]) call(manager, "currentNamespace")));
        }
        whole.addAll(parts);
        return Optional.of(named((CatalogPlugin) call(manager, "currentCatalog"), whole));
    }

    /** The first catalog of a session, by name, whose class is in a package; {@code prefix} ends in a dot. */
    public static Optional<String> registered(SparkSession session, String prefix) {
        return CollectionConverters.asJava(session.conf().getAll()).entrySet().stream()
            .filter(one -> one.getKey().startsWith(CATALOG) && one.getKey().indexOf('.', CATALOG.length()) < 0)
            .filter(one -> one.getValue().startsWith(prefix))
            .map(one -> one.getKey().substring(CATALOG.length())).sorted().findFirst();
    }

    private static Named named(CatalogPlugin catalog, List<String> parts) {
        String[] namespace = parts.subList(0, parts.size() - 1).toArray(String[]::new);
        return new Named(catalog, Identifier.of(namespace, parts.get(parts.size() - 1)));
    }

    /** A relation under its whole name, as Spark's own lookup returns it. */
    public static LogicalPlan named(LogicalPlan relation, String catalog, Identifier ident) {
        List<String> parts = new ArrayList<>(List.of(catalog));
        parts.addAll(Arrays.asList(ident.namespace()));
        parts.add(ident.name());
        return SubqueryAlias$.MODULE$.apply(CollectionConverters.asScala(parts).toSeq(), relation);
    }

    /** Whether a statement has WITH SCHEMA EVOLUTION; which statements can have it differs between releases. */
    public static boolean evolvesSchema(LogicalPlan node) {
        return EVOLVING.get(node.getClass()) && (boolean) call(node, "withSchemaEvolution");
    }

    /** The options of a DataFrame's write. */
    @SuppressWarnings("unchecked")
    public static CaseInsensitiveStringMap writeOptions(LogicalPlan write) {
        OptionalInt place = memberNamed(write, "writeOptions");
        return place.isEmpty() ? CaseInsensitiveStringMap.empty() : new CaseInsensitiveStringMap(
            CollectionConverters.asJava((scala.collection.immutable.Map<String, String>) write.productElement(place.getAsInt())));
    }

    /** A write with other options. */
    public static LogicalPlan withWriteOptions(LogicalPlan write, CaseInsensitiveStringMap options) {
        int place = memberNamed(write, "writeOptions").orElseThrow();
        return (LogicalPlan) write.makeCopy(members(write, place, asScala(options.asCaseSensitiveMap())));
    }

    /** A map as Spark's nodes have it. */
    public static scala.collection.immutable.Map<String, String> asScala(Map<String, String> map) {
        return scala.collection.immutable.Map.from(CollectionConverters.asScala(map));
    }

    /** The index of a node's member by name; a node's members differ between releases. */
    public static OptionalInt memberNamed(Product node, String name) {
        return IntStream.range(0, node.productArity()).filter(i -> node.productElementName(i).equals(name)).findFirst();
    }

    /** A node's members with one replaced; their number differs between releases of Spark. */
    public static Object[] members(Product node, int place, Object member) {
        return IntStream.range(0, node.productArity()).mapToObj(i -> i == place ? member : node.productElement(i)).toArray();
    }

    /** The field, element, key or value at a path, by case-insensitive names, and the names of the fields around it. */
    public static Optional<Tuple2<Seq<String>, StructField>> field(StructType schema, List<String> path, Origin origin) {
        Option<Tuple2<Seq<String>, StructField>> field = schema.findNestedField(
            CollectionConverters.asScala(path).toSeq(), true, (one, other) -> one.equalsIgnoreCase(other), origin);
        return field.isEmpty() ? Optional.empty() : Optional.of(field.get());
    }

    private static Object call(Object on, String method, String... arguments) {
        try {
            Class<?>[] types = new Class<?>[arguments.length];
            Arrays.fill(types, String.class);
            return on.getClass().getMethod(method, types).invoke(on, (Object[]) arguments);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("this release of Spark is not supported: it has no method " + method, e);
        }
    }
}
