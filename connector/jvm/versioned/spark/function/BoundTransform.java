package versioned.spark.function;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** A partition transform of values of one type. */
final class BoundTransform extends TransformFunction<Object> {
    private final String name;
    private final boolean isSized;
    private final DataType type;
    private final DataType result;
    private transient Transform transform;
    private transient int size;

    BoundTransform(String name, boolean isSized, DataType type) {
        this.name = name;
        this.isSized = isSized;
        this.type = type;
        this.result = Transform.of(name, 1, type).result();
    }

    @Override
    public DataType[] inputTypes() {
        return isSized ? new DataType[] {DataTypes.IntegerType, type} : new DataType[] {type};
    }

    @Override
    public DataType resultType() {
        return result;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public String canonicalName() {
        return "versioned." + name + "(" + type.catalogString() + ")";
    }

    @Override
    public Object produceResult(InternalRow input) {
        int at = isSized ? 1 : 0;
        if (input.isNullAt(at) || input.isNullAt(0)) {
            return null;
        }
        return of(isSized ? input.getInt(0) : 1).apply(input.get(at, type));
    }

    private Transform of(int wanted) {
        if (transform == null || size != wanted) {
            if (wanted < 1) {
                throw new IllegalArgumentException(name + "(" + wanted + "): the number must be at least 1");
            }
            transform = Transform.of(name, wanted, type);
            size = wanted;
        }
        return transform;
    }
}
