package versioned.spark.catalog;

import java.util.EnumSet;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.protocol.TableRef;
import versioned.spark.python.TableOptions;
import versioned.spark.scan.MetadataScanBuilder;

/** A metadata table of the table {@code ref}: {@code t.history}, {@code t.segments} and so on. */
public record MetadataTable(TableRef ref, String kind, StructType schema) implements SupportsRead {

    @Override
    public String name() {
        return ref.name() + "." + kind;
    }

    @Override
    public Set<TableCapability> capabilities() {
        return EnumSet.of(TableCapability.BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        TableOptions.accepted(name(), true, options, TableOptions.READ);
        return new MetadataScanBuilder(ref, kind, schema);
    }
}
