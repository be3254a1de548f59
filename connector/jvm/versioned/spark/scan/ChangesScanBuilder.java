package versioned.spark.scan;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import versioned.spark.internals.SparkPython;
import versioned.spark.protocol.Codec;
import versioned.spark.protocol.StreamRef;
import versioned.spark.protocol.TableRef;
import versioned.spark.python.PathOptions;
import versioned.spark.python.SchemaOptions;
import versioned.spark.python.TableRefs;
import versioned.spark.python.Terms;

/** A scan of changes, which tasks in Python find out. */
public final class ChangesScanBuilder implements ScanBuilder, SupportsPushDownRequiredColumns,
        SupportsPushDownV2Filters {
    private static final String VERSION = "_commit_version";

    private final TableRef table;
    private final AskedChanges asked;
    private final CaseInsensitiveStringMap options;
    private final StructType whole;
    private StructType wanted;
    private List<Predicate> filters = List.of();

    /** @param schema of the changes */
    public ChangesScanBuilder(TableRef table, AskedChanges asked, CaseInsensitiveStringMap options, StructType schema) {
        this.table = table;
        this.asked = asked;
        this.options = options;
        this.whole = schema;
        this.wanted = schema;
    }

    /** Python's batches need a column to have a number of rows. */
    @Override
    public void pruneColumns(StructType schema) {
        wanted = schema.isEmpty() ? new StructType().add(whole.apply(VERSION)) : schema;
    }

    /** Python finds changes of the rows that satisfy them only; Spark evaluates them for each row, too. */
    @Override
    public Predicate[] pushPredicates(Predicate[] predicates) {
        filters = NormalFilters.of(List.of(predicates));
        return predicates;
    }

    @Override
    public Predicate[] pushedPredicates() {
        return new Predicate[0];
    }

    @Override
    public Scan build() {
        return new ChangesScan(table, asked, options, wanted, filters);
    }

    private record ChangesScan(TableRef table, AskedChanges asked, CaseInsensitiveStringMap options, StructType wanted,
            List<Predicate> filters) implements Scan {
        @Override
        public StructType readSchema() {
            return wanted;
        }

        @Override
        public String description() {
            return "ChangesScan " + table.name() + " " + asked + ", filters: " + filters;
        }

        @Override
        public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
            return VersionedStream.ofChanges(new StreamRef(table, asked.ofStream(PathOptions.ofStream(options))), wanted);
        }

        @Override
        public Batch toBatch() {
            Map<String, String> options = TableRefs.sourceOptions(table); // not those of the user
            options.put("versionAsOf", Long.toString(table.version()));
            options.put("tableName", table.name());
            options.put("changes", Codec.text(asked.ofBatch(Terms.of(filters))));
            if (table.seen() != null) {
                options.put(SchemaOptions.SCHEMA_VERSION, table.seen());
                options.put(SchemaOptions.ON_OVERFLOW, table.overflow());
            }
            return new TranslatingBatch(SparkPython.scan("versioned", wanted, new CaseInsensitiveStringMap(options)));
        }
    }
}
