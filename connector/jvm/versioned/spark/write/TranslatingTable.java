package versioned.spark.write;

import java.util.Set;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;

/** The target of {@code df.write.format("versioned")}: the Python data source, with its errors translated. */
public record TranslatingTable(SupportsWrite python) implements SupportsWrite {
    @Override
    public String name() {
        return python.name();
    }

    @Override
    @SuppressWarnings("deprecation")
    public StructType schema() {
        return python.schema();
    }

    @Override
    public Column[] columns() {
        return python.columns();
    }

    @Override
    public Set<TableCapability> capabilities() {
        return python.capabilities();
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        return new Builder(python.newWriteBuilder(info));
    }

    private record Builder(WriteBuilder python) implements WriteBuilder, SupportsTruncate {
        @Override
        public WriteBuilder truncate() {
            return new Builder(((SupportsTruncate) python).truncate());
        }

        @Override
        public Write build() {
            return TranslatingWrite.of(python.build(), Runnable::run);
        }
    }
}
