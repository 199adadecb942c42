// Every call of the Node client toxiproxy-node-client, on the server at SERVER (HOST:PORT): a line each, with what it gave.
//     NODE_PATH=.../node_modules node calls.cjs
const { Toxiproxy } = require("toxiproxy-node-client");

const toxiproxy = new Toxiproxy(`http://${process.env.SERVER}`);
const UPSTREAM = "127.0.0.1:1";
const TOXICS = {
  latency: { latency: 5, jitter: 1 },
  bandwidth: { rate: 1000 },
  slow_close: { delay: 10 },
  timeout: { timeout: 20 },
  reset_peer: { timeout: 30 },
  slicer: { average_size: 100, size_variation: 10, delay: 5 },
  limit_data: { bytes: 4096 },
  noop: {},
};

function plain(value) {
  if (value === null || typeof value !== "object") return value;
  if (typeof value.toJson === "function") return value.toJson();
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, plain(part)]));
}

async function says(what, call) {
  try {
    const gave = await call();
    console.log(`${what}: ${JSON.stringify(plain(gave)) ?? "nothing"}`);
    return gave;
  } catch (failed) {
    console.log(`${what}: ${failed.constructor.name}: ${failed.message}`);
  }
}

async function main() {
  await says("getVersion", () => toxiproxy.getVersion());
  await says("getAll, empty", () => toxiproxy.getAll());
  const made = { name: "p", listen: "127.0.0.1:0", upstream: UPSTREAM };
  const p = await says("createProxy", () => toxiproxy.createProxy(made));
  await says("createProxy, taken name", () => toxiproxy.createProxy(made));
  await says("createProxy, taken port", () => toxiproxy.createProxy({ ...made, name: "q", listen: p.listen }));
  await says("createProxy, no name", () => toxiproxy.createProxy({ listen: "127.0.0.1:0", upstream: UPSTREAM }));
  await says("createProxy, no upstream", () => toxiproxy.createProxy({ name: "q", listen: "127.0.0.1:0" }));
  await says("createProxy, disabled", () => toxiproxy.createProxy({ ...made, name: "off", enabled: false }));
  await says("get", () => toxiproxy.get("p"));
  await says("get, unknown", () => toxiproxy.get("none"));
  await says("populate", () => toxiproxy.populate([{ ...made, listen: p.listen }, { ...made, name: "r" }]));
  await says("populate, nothing", () => toxiproxy.populate([]));
  await says("populate, no upstream", () => toxiproxy.populate([{ name: "s", listen: "127.0.0.1:0" }]));
  await says("getAll", () => toxiproxy.getAll());

  for (const enabled of [false, true]) {
    await says(`update, enabled ${enabled}`, () => p.update({ enabled }));
  }
  await says("update, upstream", () => p.update({ upstream: "127.0.0.1:2" }));
  await says("update, bad listen", () => p.update({ listen: "nonsense" }));
  await says("update, listen", () => p.update({ listen: "127.0.0.1:0", enabled: true }));

  for (const [type, attributes] of Object.entries(TOXICS)) {
    const toxic = await says(`addToxic ${type}`, () =>
      p.addToxic({ name: `t-${type}`, type, stream: "upstream", toxicity: 0.5, attributes }));
    await says(`getToxic ${type}`, () => p.getToxic(`t-${type}`));
    const [first, value] = Object.entries(attributes)[0] ?? ["none", 0];
    await says(`toxic.update ${type}`, () => toxic.update({ attributes: { [first]: value + 1 }, toxicity: 1 }));
  }
  await says("addToxic, defaults", () => p.addToxic({ type: "latency" }));
  await says("addToxic, no attributes", () => p.addToxic({ type: "timeout", attributes: null }));
  await says("addToxic, taken name", () => p.addToxic({ name: "t-noop", type: "noop", stream: "downstream" }));
  await says("addToxic, bad type", () => p.addToxic({ type: "nonsense", attributes: {} }));
  await says("addToxic, bad stream", () => p.addToxic({ type: "noop", stream: "sideways", attributes: {} }));
  await says("addToxic, half a byte", () => p.addToxic({ type: "limit_data", attributes: { bytes: 0.5 } }));
  await says("getToxic, unknown", () => p.getToxic("none"));
  const noop = await p.getToxic("t-noop");
  await says("toxic.remove", () => noop.remove());
  await says("toxic.remove, again", () => noop.remove());
  await says("toxic.update, gone", () => noop.update({ toxicity: 1 }));

  await says("reset", () => toxiproxy.reset());
  await says("getToxic, after reset", () => p.getToxic("t-latency"));
  await says("getAll, after reset", () => toxiproxy.getAll());
  for (const proxy of Object.values(await toxiproxy.getAll())) {
    await says(`remove ${proxy.name}`, () => proxy.remove());
  }
  await says("remove, again", () => p.remove());
  await says("update, gone", () => p.update({ enabled: true }));
  await says("addToxic, gone", () => p.addToxic({ type: "noop", attributes: {} }));
}

main();
