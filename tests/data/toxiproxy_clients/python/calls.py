"""Every call of the Python client toxiproxy-python, on the server at SERVER (HOST:PORT): a line each, with what it gave."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from toxiproxy import Proxy, Toxiproxy

UPSTREAM = "127.0.0.1:1"
TOXICS = {
    "latency": {"latency": 5, "jitter": 1},
    "bandwidth": {"rate": 1000},
    "slow_close": {"delay": 10},
    "timeout": {"timeout": 20},
    "reset_peer": {"timeout": 30},
    "slicer": {"average_size": 100, "size_variation": 10, "delay": 5},
    "limit_data": {"bytes": 4096},
    "noop": {},
}


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(part) for key, part in sorted(value.items())}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return plain(vars(value)) if hasattr(value, "__dict__") else value


def says(what: str, call: Callable[..., Any], *args: Any, **named: Any) -> Any:
    try:
        gave = call(*args, **named)
    except Exception as failed:  # noqa: BLE001 - whatever it raises is told
        print(f"{what}: {type(failed).__name__}: {failed}")
        return None
    print(f"{what}: {plain(gave)}")
    return gave


def main() -> None:
    host, _, port = os.environ["SERVER"].partition(":")
    client = Toxiproxy()
    client.update_api_consumer(host, int(port))
    says("running", client.running)
    says("version", client.version)
    says("proxies, none", client.proxies)
    p = says("create", client.create, UPSTREAM, "p")
    says("create, taken name", client.create, UPSTREAM, "p")
    says("create, taken port", client.create, UPSTREAM, "q", listen=p.listen)
    says("create, no upstream", client.create, "", "q")
    says("create, disabled", client.create, UPSTREAM, "off", enabled=False)
    says("get_proxy", client.get_proxy, "p")
    says("get_proxy, unknown", client.get_proxy, "none")
    same = {"name": "p", "upstream": UPSTREAM, "listen": p.listen}
    says("populate", client.populate, [same, {**same, "name": "r", "listen": "127.0.0.1:0"}])
    says("populate, changed", client.populate, [{**same, "upstream": "127.0.0.1:2"}])
    of_proxy(p)
    says("reset", client.reset)
    says("toxics, after reset", p.toxics)
    says("proxies", client.proxies)
    says("destroy", client.destroy, p)
    says("destroy, again", client.destroy, p)
    says("destroy, a name", client.destroy, "p")
    says("toxics, gone", p.toxics)
    says("enable, gone", p.enable)
    says("destroy_all", client.destroy_all)
    says("proxies, none left", client.proxies)


def of_proxy(p: Proxy) -> None:
    says("disable", p.disable)
    says("enable", p.enable)
    with p.down():
        print(f"down: {p.enabled}")
    for kind, attributes in TOXICS.items():
        says(f"add_toxic {kind}", p.add_toxic, type=kind, stream="upstream", toxicity=0.5, attributes=attributes)
        says(f"get_toxic {kind}", p.get_toxic, f"{kind}_upstream")
    says("add_toxic, defaults", p.add_toxic, type="latency")
    says("add_toxic, taken name", p.add_toxic, type="latency")
    says("add_toxic, bad type", p.add_toxic, type="nonsense")
    says("add_toxic, bad stream", p.add_toxic, type="noop", stream="sideways")
    says("add_toxic, half a millisecond", p.add_toxic, type="timeout", name="half", attributes={"timeout": 0.5})
    says("toxics", p.toxics)
    says("destroy_toxic", p.destroy_toxic, "latency_downstream")
    says("destroy_toxic, again", p.destroy_toxic, "latency_downstream")
    says("get_toxic, gone", p.get_toxic, "latency_downstream")


if __name__ == "__main__":
    main()
