package versioned.spark.internals;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import net.razorvine.pickle.Pickler;
import org.apache.spark.api.python.PythonFunction;
import org.apache.spark.api.python.PythonUtils$;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.LogicalWriteInfoImpl;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceReadInfo;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.execution.datasources.v2.python.PythonWriterCommitMessage;
import org.apache.spark.sql.execution.python.PythonPlannerRunner;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;

/** How Spark runs Python while it plans a query: its daemon, workers and environment. */
public final class SparkPython {
    /** The name of our Python data source. */
    public static final String FORMAT = "versioned";

    private static final int PYTHON_EXCEPTION_THROWN = -2;

    private SparkPython() {}

    /** JSON, and the bytes that stand behind it on the wire. */
    public record Frame(String json, List<byte[]> attachments) {}

    /**
     * Sends a request to a worker module and waits for its response.
     *
     * @param module a Python module whose name starts with {@code pyspark}
     * @throws IllegalStateException if Python fails without a response
     */
    public static Frame exchange(String module, Frame request) {
        return new Exchange(Function.INSTANCE, module, request).runInPython(true);
    }

    /** The span that the user's thread is in, as W3C Trace Context writes it in a local property of Spark; null without one. */
    public static String traceParent() {
        Option<SparkSession> session = SparkSession.getActiveSession();
        return session.isEmpty() ? null : session.get().sparkContext().getLocalProperty("traceparent");
    }

    /** Whether a table is our Python data source. */
    public static boolean isSource(Table table) {
        return table instanceof PythonTable && table.name().equalsIgnoreCase(FORMAT);
    }

    /** Tasks that Python has planned, as a table of its data source; Spark does not plan them again. */
    private static PythonTable table(StructType schema, byte[] tasks) {
        PythonDataSourceV2 source = source();
        source.setReadInfo(PythonDataSourceReadInfo.receive(new DataInputStream(new ByteArrayInputStream(tasks))));
        return new PythonTable(source, "tasks in Python", schema);
    }

    /** A read by tasks that Python has planned. */
    public static Batch read(StructType schema, byte[] tasks) {
        return table(schema, tasks).newScanBuilder(CaseInsensitiveStringMap.empty()).build().toBatch();
    }

    /** The rows of tasks that Python has planned. */
    public static List<Row> collect(StructType schema, byte[] tasks) {
        return Dataset.ofRows((SparkSession) SparkSession.active(),
            DataSourceV2Relation.create(table(schema, tasks), Option.empty(), Option.empty())).collectAsList();
    }

    private static PythonDataSourceV2 source() {
        PythonDataSourceV2 source = new PythonDataSourceV2();
        source.setShortName(FORMAT);
        return source;
    }

    /** A write by our Python data source, with other options than the user's. */
    public static Write write(String queryId, StructType schema, Map<String, String> options) {
        LogicalWriteInfo info = new LogicalWriteInfoImpl(queryId, schema, new CaseInsensitiveStringMap(options),
            Optional.empty(), Optional.empty());
        return new PythonTable(source(), FORMAT, schema).newWriteBuilder(info).build();
    }

    /** The pickled commit message of a task that writes by our Python data source. */
    public static byte[] pickled(WriterCommitMessage message) {
        return ((PythonWriterCommitMessage) message).pickledMessage();
    }

    private static final class Function {
        static final PythonFunction INSTANCE = PythonUtils$.MODULE$.createPythonFunction(new byte[0]);
    }

    private static final class Exchange extends PythonPlannerRunner<Frame> {
        private final String module;
        private final Frame request;

        Exchange(PythonFunction function, String module, Frame request) {
            super(function);
            this.module = module;
            this.request = request;
        }

        @Override
        public String workerModule() {
            return module;
        }

        @Override
        public void writeToPython(DataOutputStream out, Pickler pickler) {
            try {
                write(request.json().getBytes(StandardCharsets.UTF_8), out);
                out.writeInt(request.attachments().size());
                for (byte[] attachment : request.attachments()) {
                    write(attachment, out);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public Frame receiveFromPython(DataInputStream in) {
            try {
                int length = in.readInt();
                if (length == PYTHON_EXCEPTION_THROWN) {
                    throw new IllegalStateException("Python failed during a request about a versioned table:\n"
                        + text(read(in, in.readInt())));
                }
                String json = text(read(in, length));
                List<byte[]> attachments = new ArrayList<>();
                for (int left = in.readInt(); left > 0; left--) {
                    attachments.add(read(in, in.readInt()));
                }
                return new Frame(json, attachments);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private static void write(byte[] bytes, DataOutputStream out) throws IOException {
            out.writeInt(bytes.length);
            out.write(bytes);
        }

        private static byte[] read(DataInputStream in, int length) throws IOException {
            byte[] bytes = new byte[length];
            in.readFully(bytes);
            return bytes;
        }

        private static String text(byte[] bytes) {
            return new String(bytes, StandardCharsets.UTF_8);
        }
    }
}
