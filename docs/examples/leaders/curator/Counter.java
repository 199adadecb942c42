import java.nio.charset.StandardCharsets;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.retry.RetryForever;
import org.apache.zookeeper.KeeperException;

/**
 * A service whose leader counts in /my/data/count: java Counter HOST:PORT ID SESSION_TIMEOUT_MS [fenced]
 *
 * <p>The leader is elected by Curator's LeaderLatch. Whoever asks it and then acts may have stood still in between: without
 * `fenced` the write is sent all the same, in the session that Curator gets next. With `fenced` ZooKeeper refuses it.
 */
public final class Counter {
  private static final String ELECTION = "/my/election";
  private static final String COUNT = "/my/data/count";
  private static final int WORK_MS = 100;

  private final CuratorFramework client;
  private final LeaderLatch latch;
  private final boolean fenced;

  private Counter(String hosts, String node, int timeoutMs, boolean fenced) {
    this.client = CuratorFrameworkFactory.newClient(hosts, timeoutMs, timeoutMs, new RetryForever(50));
    this.latch = new LeaderLatch(client, ELECTION, node);
    this.fenced = fenced;
  }

  public static void main(String[] args) throws Exception {
    new Counter(args[0], args[1], Integer.parseInt(args[2]), args.length > 3).run();
  }

  private void run() throws Exception {
    client.start();
    latch.addListener(
        new LeaderLatchListener() {
          @Override
          public void isLeader() {
            String epoch = fenced ? ", \"epoch\": " + epochOf(latch.getOurPath()) : "";
            say("\"leads\": \"" + ELECTION + "\"" + epoch);
          }

          @Override
          public void notLeader() {
            say("\"follows\": \"" + ELECTION + "\"");
          }
        });
    latch.start();
    while (true) {
      latch.await();
      String mine = latch.getOurPath();
      if (latch.hasLeadership() && mine != null) {
        begin();
        lead(mine);
      }
    }
  }

  private void begin() throws Exception {
    if (client.checkExists().forPath(COUNT) == null) {
      try {
        client.create().creatingParentsIfNeeded().forPath(COUNT, number(0));
      } catch (KeeperException.NodeExistsException late) {
        System.err.println("another leader was faster: " + late.getMessage());
      }
    }
  }

  /** One piece of work: what is read, what is made of it, what is written. */
  private void lead(String mine) throws Exception {
    long value = Long.parseLong(new String(client.getData().forPath(COUNT), StandardCharsets.UTF_8));
    Thread.sleep(WORK_MS);
    if (!fenced) {
      client.setData().forPath(COUNT, number(value + 1));
      return;
    }
    try { // the znode that made us the leader is there still: ZooKeeper checks that and writes in one transaction
      client
          .transaction()
          .forOperations(
              client.transactionOp().check().withVersion(0).forPath(mine),
              client.transactionOp().setData().forPath(COUNT, number(value + 1)));
    } catch (KeeperException.NoNodeException late) {
      System.err.println("refused: " + late.getMessage());
    }
  }

  /** The number that ZooKeeper gave to our znode. */
  private static long epochOf(String path) {
    return Long.parseLong(path.substring(path.length() - 10));
  }

  private static byte[] number(long value) {
    return Long.toString(value).getBytes(StandardCharsets.UTF_8);
  }

  private static void say(String line) {
    System.out.println("{" + line + ", \"at_ns\": " + System.nanoTime() + "}");
  }
}
