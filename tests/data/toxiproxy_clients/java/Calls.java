import eu.rekawek.toxiproxy.Proxy;
import eu.rekawek.toxiproxy.ToxiproxyClient;
import eu.rekawek.toxiproxy.model.Toxic;
import eu.rekawek.toxiproxy.model.ToxicDirection;
import eu.rekawek.toxiproxy.model.ToxicList;
import eu.rekawek.toxiproxy.model.toxic.*;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;

/** Every call of the Java client toxiproxy-java, on the server at SERVER (HOST:PORT): a line each, with what it gave. */
public class Calls {
    static final String UPSTREAM = "127.0.0.1:1", ANY = "127.0.0.1:0";
    static final ToxicDirection UP = ToxicDirection.UPSTREAM, DOWN = ToxicDirection.DOWNSTREAM;

    interface Action {
        void run() throws Exception;
    }

    static <T> T says(String what, Callable<T> call) {
        try {
            T gave = call.call();
            System.out.println(what + ": " + plain(gave));
            return gave;
        } catch (Exception failed) {
            System.out.println(what + ": " + failed.getClass().getSimpleName() + ": " + failed.getMessage());
            return null;
        }
    }

    static void does(String what, Action action) {
        says(what, () -> {
            action.run();
            return "done";
        });
    }

    static String plain(Object value) {
        if (value instanceof List<?> list) {
            return list.stream().map(Calls::plain).sorted().collect(Collectors.joining(", ", "[", "]"));
        }
        if (value instanceof Proxy proxy) {
            return "%s %s -> %s enabled %s".formatted(
                    proxy.getName(), proxy.getListen(), proxy.getUpstream(), proxy.isEnabled());
        }
        if (value instanceof Toxic toxic) {
            return "%s %s %s x%s %s".formatted(toxic.getClass().getSimpleName(), toxic.getName(), toxic.getStream(),
                    toxic.getToxicity(), attributes(toxic));
        }
        return String.valueOf(value);
    }

    static String attributes(Toxic toxic) {
        if (toxic instanceof Latency latency) return latency.getLatency() + "+-" + latency.getJitter();
        if (toxic instanceof Bandwidth bandwidth) return "" + bandwidth.getRate();
        if (toxic instanceof SlowClose slow) return "" + slow.getDelay();
        if (toxic instanceof Timeout timeout) return "" + timeout.getTimeout();
        if (toxic instanceof ResetPeer reset) return "" + reset.getTimeout();
        if (toxic instanceof LimitData limit) return "" + limit.getBytes();
        Slicer slicer = (Slicer) toxic;
        return slicer.getAverageSize() + "+-" + slicer.getSizeVariation() + " " + slicer.getDelay();
    }

    public static void main(String[] args) throws Exception {
        String[] server = System.getenv("SERVER").split(":");
        ToxiproxyClient client = new ToxiproxyClient(server[0], Integer.parseInt(server[1]));
        says("version", client::version);
        says("getProxies, none", client::getProxies);
        Proxy p = says("createProxy", () -> client.createProxy("p", ANY, UPSTREAM));
        says("createProxy, taken name", () -> client.createProxy("p", ANY, UPSTREAM));
        says("createProxy, taken port", () -> client.createProxy("q", p.getListen(), UPSTREAM));
        says("createProxy, no name", () -> client.createProxy("", ANY, UPSTREAM));
        says("createProxy, no upstream", () -> client.createProxy("q", ANY, ""));
        says("createProxy, bad listen", () -> client.createProxy("q", "nonsense", UPSTREAM));
        says("getProxy", () -> client.getProxy("p"));
        says("getProxy, unknown", () -> client.getProxy("none"));
        says("getProxyOrNull", () -> client.getProxyOrNull("p"));
        says("getProxyOrNull, unknown", () -> client.getProxyOrNull("none"));
        ofProxies(client, p);
        ofToxics(p.toxics());
        does("reset", client::reset);
        says("getAll, after reset", () -> p.toxics().getAll());
        says("getProxies", client::getProxies);
        does("delete", p::delete);
        does("delete, again", p::delete);
        does("enable, gone", p::enable);
        says("latency, gone", () -> p.toxics().latency("l", DOWN, 1));
        says("getProxies, none left", client::getProxies);
    }

    static void ofProxies(ToxiproxyClient client, Proxy p) {
        does("disable", p::disable);
        says("disabled", () -> client.getProxy("p"));
        does("enable", p::enable);
        does("setUpstream", () -> p.setUpstream("127.0.0.1:2"));
        does("setListen", () -> p.setListen(ANY));
        does("setListen, bad", () -> p.setListen("nonsense"));
        says("changed", () -> client.getProxy("p"));
    }

    static void ofToxics(ToxicList toxics) {
        says("getAll, none", toxics::getAll);
        Latency latency = says("latency", () -> toxics.latency("latency", DOWN, 5));
        Bandwidth bandwidth = says("bandwidth", () -> toxics.bandwidth("bandwidth", UP, 0));
        SlowClose slow = says("slowClose", () -> toxics.slowClose("slow", DOWN, 10));
        Timeout timeout = says("timeout", () -> toxics.timeout("timeout", UP, 20));
        ResetPeer reset = says("resetPeer", () -> toxics.resetPeer("reset", DOWN, 30));
        Slicer slicer = says("slicer", () -> toxics.slicer("slicer", UP, 100, 5));
        LimitData limit = says("limitData", () -> toxics.limitData("limit", DOWN, 4096));
        says("latency, taken name", () -> toxics.latency("latency", UP, 5));
        says("setLatency", () -> latency.setLatency(6));
        says("setJitter", () -> latency.setJitter(2));
        does("setToxicity", () -> latency.setToxicity(0.25f));
        says("setRate", () -> bandwidth.setRate(1000));
        says("setDelay", () -> slow.setDelay(11));
        says("setTimeout", () -> timeout.setTimeout(21));
        says("setTimeout of resetPeer", () -> reset.setTimeout(31));
        says("setAverageSize", () -> slicer.setAverageSize(200));
        says("setSizeVariation", () -> slicer.setSizeVariation(20));
        says("setDelay of slicer", () -> slicer.setDelay(6));
        says("setBytes", () -> limit.setBytes(8192));
        says("getAll", toxics::getAll);
        says("get", () -> toxics.get("latency"));
        says("get, by its class", () -> toxics.get("slicer", Slicer.class));
        says("get, unknown", () -> toxics.get("none"));
        does("remove", slicer::remove);
        does("remove, again", slicer::remove);
        says("setDelay, gone", () -> slicer.setDelay(7));
    }
}
