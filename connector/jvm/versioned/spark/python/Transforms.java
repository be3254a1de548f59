package versioned.spark.python;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.Transform;
import versioned.spark.protocol.PartitionTransform;

/** Partition transforms as Spark's expressions. */
public final class Transforms {
    private Transforms() {}

    /** The transforms of a partitioning. */
    public static Transform[] of(List<PartitionTransform> partitioning) {
        return partitioning.stream().map(Transforms::of).toArray(Transform[]::new);
    }

    /** A transform as an expression; the column itself for {@code identity}. */
    public static Expression expression(PartitionTransform transform) {
        return transform.transform().equals("identity") ? FieldReference.apply(column(transform)) : of(transform);
    }

    /** A name in backticks. */
    public static String quoted(String name) {
        return "`" + name.replace("`", "``") + "`";
    }

    private static String column(PartitionTransform transform) {
        return transform.column().stream().map(Transforms::quoted).collect(Collectors.joining("."));
    }

    private static Transform of(PartitionTransform transform) {
        String column = column(transform);
        return switch (transform.transform()) {
            case "identity" -> Expressions.identity(column);
            case "years" -> Expressions.years(column);
            case "months" -> Expressions.months(column);
            case "days" -> Expressions.days(column);
            case "hours" -> Expressions.hours(column);
            case "bucket" -> Expressions.bucket(transform.size(), column);
            default -> Expressions.apply(transform.transform(), Expressions.literal(transform.size()),
                FieldReference.apply(column));
        };
    }

    /** Transforms as text, as CREATE TABLE sends them. */
    public static List<String> texts(Transform[] partitioning) {
        return Stream.of(partitioning).map(Transform::describe).toList();
    }
}
