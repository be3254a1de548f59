package versioned.spark.internals;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import net.razorvine.pickle.Pickler;
import org.apache.spark.api.python.PythonFunction;
import org.apache.spark.api.python.PythonUtils$;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.LogicalWriteInfoImpl;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.execution.python.PythonPlannerRunner;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** How Spark runs Python while it plans a query: its daemon, workers and environment. */
public final class SparkPython {
    private static final int PYTHON_EXCEPTION_THROWN = -2;

    private SparkPython() {}

    /**
     * Sends a request to a worker module and waits for its response.
     *
     * @param module a Python module whose name starts with {@code pyspark}
     * @throws IllegalStateException if Python fails without a response
     */
    public static String exchange(String module, String request) {
        return new Exchange(Function.INSTANCE, module, request).runInPython(true);
    }

    /** Whether a table is a Python data source of this name. */
    public static boolean isSource(Table table, String format) {
        return table instanceof PythonTable && table.name().equalsIgnoreCase(format);
    }

    /** A read of some columns by a Python data source. */
    public static Batch scan(String format, StructType wanted, CaseInsensitiveStringMap options) {
        PythonDataSourceV2 source = new PythonDataSourceV2();
        source.setShortName(format);
        return new PythonTable(source, format, wanted).newScanBuilder(options).build().toBatch();
    }

    /** A write by a Python data source, with other options than the user's. */
    public static Write write(String format, String queryId, StructType schema, Map<String, String> options) {
        PythonDataSourceV2 source = new PythonDataSourceV2();
        source.setShortName(format);
        LogicalWriteInfo info = new LogicalWriteInfoImpl(queryId, schema, new CaseInsensitiveStringMap(options),
            Optional.empty(), Optional.empty());
        return new PythonTable(source, format, schema).newWriteBuilder(info).build();
    }

    private static final class Function {
        static final PythonFunction INSTANCE = PythonUtils$.MODULE$.createPythonFunction(new byte[0]);
    }

    private static final class Exchange extends PythonPlannerRunner<String> {
        private final String module;
        private final byte[] request;

        Exchange(PythonFunction function, String module, String request) {
            super(function);
            this.module = module;
            this.request = request.getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public String workerModule() {
            return module;
        }

        @Override
        public void writeToPython(DataOutputStream out, Pickler pickler) {
            try {
                out.writeInt(request.length);
                out.write(request);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public String receiveFromPython(DataInputStream in) {
            try {
                int length = in.readInt();
                if (length == PYTHON_EXCEPTION_THROWN) {
                    throw new IllegalStateException("Python failed during a request about a versioned table:\n"
                        + read(in, in.readInt()));
                }
                return read(in, length);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private static String read(DataInputStream in, int length) throws IOException {
            byte[] bytes = new byte[length];
            in.readFully(bytes);
            return new String(bytes, StandardCharsets.UTF_8);
        }
    }
}
