package versioned.spark.catalog;

import java.util.EnumSet;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.protocol.ReadMetadata;
import versioned.spark.protocol.TableRef;
import versioned.spark.python.LocalRows;
import versioned.spark.python.Python;
import versioned.spark.python.TableOptions;
import versioned.spark.python.TableRefs;

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
        return () -> scan();
    }

    private Scan scan() {
        return LocalRows.parse("VersionedMetadata " + kind + " of " + TableRefs.label(ref), schema,
            Python.send(new ReadMetadata(ref, kind)).rows());
    }
}
