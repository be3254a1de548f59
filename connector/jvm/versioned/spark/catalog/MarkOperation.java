package versioned.spark.catalog;

import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import versioned.spark.python.TableRefs;
import versioned.spark.write.MarkingWriteBuilder;
import versioned.spark.write.Rewrite;

/**
 * A DELETE, UPDATE or MERGE of a table without a primary key by marks: only rows to change are read,
 * marked as deleted where they are, and written again if they stay.
 */
public final class MarkOperation extends DeltaChange implements Rewrite {
    private static final String ROW_CHANGES = "row_changes";
    private static final String COPY = "copy";

    MarkOperation(VersionedTable table, Command command) {
        super(table, command);
    }

    /** Whether a table's rows are marked: it asks for no copies, and no column hides a row's place. */
    static boolean suits(VersionedTable table) {
        Set<String> place = MarkingWriteBuilder.placeNames();
        return !COPY.equals(table.ownProperties().get(ROW_CHANGES))
            && Stream.of(table.schema().fieldNames())
                .noneMatch(name -> place.stream().anyMatch(name::equalsIgnoreCase));
    }

    @Override
    public String description() {
        return command() + " by marks of " + TableRefs.label(table().ref());
    }

    @Override
    public NamedReference[] rowId() {
        return MarkingWriteBuilder.place();
    }

    @Override
    public DeltaWriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        return new MarkingWriteBuilder(table(), this, info);
    }

    @Override
    public List<String> removed() {
        return List.of();
    }

    @Override
    public List<String> fixRemoved() {
        return List.of();
    }
}
