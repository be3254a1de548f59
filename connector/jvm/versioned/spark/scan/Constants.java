package versioned.spark.scan;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.unsafe.types.UTF8String;
import versioned.spark.python.Values;

/** The columns that are the same for a whole segment. */
record Constants(ScanPlan.NativeGroup group, ScanPlan.Segment segment) {
    private static final int SEGMENT = -1;
    private static final int SCHEMA_VERSION = -2;
    private static final int SEQUENCE = -4;
    private static final int COMMIT_TIME = -5;
    private static final int SEQUENCE_OF_ROW = -6;

    InternalRow row() {
        return new GenericInternalRow(group.constants().stream().map(this::value).toArray());
    }

    private Object value(ScanPlan.ConstantColumn column) {
        return switch (column.implicit()) {
            case 0 -> Values.parse(column.value(), column.type());
            case SEGMENT -> UTF8String.fromString(segment.path());
            case SCHEMA_VERSION -> segment.schemaVersion();
            case SEQUENCE -> segment.sequence();
            case COMMIT_TIME -> segment.commitTime();
            case SEQUENCE_OF_ROW -> segment.rowSequence();
            default -> throw new IllegalStateException("no implicit column " + column.name());
        };
    }
}
