package versioned.spark;

import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.connector.catalog.SupportsV1OverwriteWithSaveAsTable;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceCreationResult;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import versioned.spark.catalog.VersionedTable;
import versioned.spark.internals.SparkPython;
import versioned.spark.internals.SparkStatements;
import versioned.spark.protocol.OpenSink;
import versioned.spark.python.PathOptions;
import versioned.spark.python.Python;
import versioned.spark.python.TableOptions;

/**
 * {@code format("versioned")} where the jar is: Spark's wrapper of the data source in Python, with what Spark keeps
 * from such a source: every save mode, {@code partitionBy}, and the session's time zone.
 *
 * <p>Spark hands a save mode only to sources of its first API. So a write arrives there first, and is then carried out
 * through the second one, by the data source in Python.
 */
public final class VersionedSource extends PythonDataSourceV2 implements DataSourceRegister, CreatableRelationProvider,
        SupportsV1OverwriteWithSaveAsTable {
    @Override
    public String shortName() {
        return SparkPython.FORMAT;
    }

    @Override
    public PythonDataSourceCreationResult getOrCreateDataSourceInPython(String name, CaseInsensitiveStringMap options,
            Option<StructType> schema) {
        PathOptions.refuseName(options);
        return super.getOrCreateDataSourceInPython(name, PathOptions.withInstant(options), schema);
    }

    @Override
    public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
        PathOptions.refuseName(new CaseInsensitiveStringMap(properties));
        if (SparkStatements.isStartingStream() && !TableOptions.isPython(new CaseInsensitiveStringMap(properties))) {
            return VersionedTable.atPath(Python.send(new OpenSink(properties, schema)));
        }
        if (PathOptions.isResolved(properties)) {
            return super.getTable(schema, partitioning, properties);
        }
        return new PythonTable(this, SparkPython.FORMAT, schema) { // before Spark knows the save mode
            @Override
            public Set<TableCapability> capabilities() {
                EnumSet<TableCapability> capabilities = EnumSet.copyOf(super.capabilities());
                capabilities.remove(TableCapability.BATCH_WRITE);
                return capabilities;
            }
        };
    }

    @Override
    public BaseRelation createRelation(SQLContext context, SaveMode mode,
            scala.collection.immutable.Map<String, String> parameters, Dataset<Row> data) {
        PathOptions.refuseName(new CaseInsensitiveStringMap(CollectionConverters.asJava(parameters)));
        Map<String, String> options = PathOptions.resolve(CollectionConverters.asJava(parameters), mode);
        boolean writes = mode != SaveMode.Ignore || !PathOptions.exists(options);
        if (writes) {
            data.write().format(SparkPython.FORMAT).mode(mode == SaveMode.Overwrite ? mode : SaveMode.Append).options(options).save();
        }
        return new BaseRelation() { // Spark requires one of a write
            @Override
            public SQLContext sqlContext() {
                return context;
            }

            @Override
            public StructType schema() {
                return data.schema();
            }
        };
    }

    /** Python decides which types a table can have, as for all writes. */
    @Override
    public boolean supportsDataType(DataType type) {
        return true;
    }
}
