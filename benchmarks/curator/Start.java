import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryForever;
import org.apache.curator.test.TestingCluster;
import org.apache.curator.test.TestingServer;

/** Curator's test servers, as a test starts them: prints the seconds until a client has its session, and waits for a line. */
public class Start {
    public static void main(String[] args) throws Exception {
        int servers = Integer.parseInt(args[0]);
        long began = System.nanoTime();
        String connect;
        AutoCloseable zookeeper;
        if (servers == 1) {
            TestingServer server = new TestingServer();
            zookeeper = server;
            connect = server.getConnectString();
        } else {
            TestingCluster cluster = new TestingCluster(servers);
            cluster.start();
            zookeeper = cluster;
            connect = cluster.getConnectString();
        }
        try (CuratorFramework client = CuratorFrameworkFactory.newClient(connect, new RetryForever(50))) {
            client.start();
            client.blockUntilConnected();
            System.out.println((System.nanoTime() - began) / 1e9);
            System.in.read();
        }
        zookeeper.close();
        System.exit(0);
    }
}
