import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/**
 * A name node and a data node in this process, until its input ends.
 *
 * <p>Arguments: the port of the name node's HTTP server, after which its RPC has the next, and a
 * folder.
 */
public class MiniHdfs {
  public static void main(String[] arguments) throws Exception {
    int port = Integer.parseInt(arguments[0]);
    Configuration conf = new Configuration();
    MiniDFSCluster cluster =
        new MiniDFSCluster.Builder(conf, new File(arguments[1]))
            .nameNodeHttpPort(port)
            .nameNodePort(port + 1)
            .numDataNodes(1)
            .build();
    cluster.waitActive();
    while (System.in.read() >= 0) {}
    cluster.shutdown();
  }
}
