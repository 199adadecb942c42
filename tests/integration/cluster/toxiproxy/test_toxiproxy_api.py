"""The HTTP API, and toxiproxy-python on it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from toxiproxy.exceptions import InvalidToxic, NotFound, ProxyExists

from tests.tools.toxiproxy_servers import (
    Server,
    Upstream,
    passes,
)


def test_version_is_json(server: Server) -> None:
    answer = server.call("GET", "/version")
    assert (answer.status_code, set(answer.json())) == (200, {"version"})
    assert answer.headers["Content-Type"].replace(" ", "") == "application/json;charset=utf-8"


def test_a_proxy_is_created_shown_changed_and_deleted(server: Server) -> None:
    made = server.call("POST", "/proxies", {"name": "p", "listen": "127.0.0.1:0", "upstream": "127.0.0.1:1"})
    assert made.status_code == 201
    body = made.json()
    body.pop("Logger", None)
    assert int(body["listen"].rpartition(":")[2]) > 0
    assert body == {
        "name": "p",
        "listen": body["listen"],
        "upstream": "127.0.0.1:1",
        "enabled": True,
        "toxics": [],
    }
    shown = server.call("GET", "/proxies/p")
    assert (shown.status_code, shown.json()) == (200, made.json())
    assert server.call("GET", "/proxies").json() == {"p": made.json()}
    for method in ("POST", "PATCH"):
        changed = server.call(method, "/proxies/p", {"enabled": method == "PATCH"})
        assert (changed.status_code, changed.json()["enabled"]) == (200, method == "PATCH")
        assert changed.json()["listen"] == body["listen"]
    moved = server.call("POST", "/proxies/p", {"upstream": "127.0.0.1:2"}).json()
    assert (moved["upstream"], moved["listen"]) == ("127.0.0.1:2", body["listen"])
    gone = server.call("DELETE", "/proxies/p")
    assert (gone.status_code, gone.content) == (204, b"")
    assert server.call("GET", "/proxies").json() == {}


def test_a_disabled_proxy_keeps_its_text(server: Server) -> None:
    wanted = {"name": "p", "listen": "127.0.0.1:0", "upstream": "127.0.0.1:1", "enabled": False}
    made = server.call("POST", "/proxies", wanted).json()
    assert (made["enabled"], made["listen"]) == (False, "127.0.0.1:0")


def test_errors_have_their_status_and_words(server: Server) -> None:
    wanted = {"name": "p", "listen": "127.0.0.1:0", "upstream": "127.0.0.1:1"}
    listen = server.call("POST", "/proxies", wanted).json()["listen"]
    server.fails(409, "proxy already exists", "POST", "/proxies", wanted)
    server.fails(400, "missing required field: name", "POST", "/proxies", {"upstream": "x:1"})
    server.fails(400, "missing required field: upstream", "POST", "/proxies", {"name": "q"})
    server.fails(400, "bad request body: EOF", "POST", "/proxies")
    taken = f"listen tcp {listen}: bind: address already in use"
    server.fails(500, taken, "POST", "/proxies", {"name": "q", "listen": listen, "upstream": "x:1"})
    for method, path in (("GET", "/proxies/q"), ("DELETE", "/proxies/q"), ("GET", "/proxies/q/toxics")):
        server.fails(404, "proxy not found", method, path)
    server.fails(404, "proxy not found", "POST", "/proxies/q", {"enabled": True})
    for method in ("GET", "DELETE"):
        server.fails(404, "toxic not found", method, "/proxies/p/toxics/t")
    toxics = "/proxies/p/toxics"
    for kind in ("down", "", "nonsense"):
        server.fails(400, "invalid toxic type", "POST", toxics, {"type": kind})
    bad = "stream was invalid, can be either upstream or downstream"
    server.fails(400, bad, "POST", toxics, {"type": "latency", "stream": "sideways"})
    assert server.call("POST", toxics, {"type": "latency", "attributes": {"latency": 1.5}}).status_code == 400
    assert server.call("GET", toxics).json() == []
    assert set(server.call("GET", "/proxies").json()) == {"p"}


def test_other_paths_methods_and_browsers(server: Server) -> None:
    missing = server.call("GET", "/nothing")
    assert (missing.status_code, missing.text) == (404, "404 page not found\n")
    wrong = server.call("DELETE", "/proxies")
    assert (wrong.status_code, wrong.content) == (405, b"")
    browser = server.call("GET", "/version", headers={"User-Agent": "Mozilla/5.0"})
    assert (browser.status_code, browser.text) == (403, "User agent not allowed\n")


def test_toxics_defaults_order_update_and_removal(server: Server) -> None:
    server.call("POST", "/proxies", {"name": "p", "listen": "127.0.0.1:0", "upstream": "127.0.0.1:1"})
    toxics = "/proxies/p/toxics"
    made = server.call("POST", toxics, {"type": "latency"})
    assert made.status_code == 200
    assert made.json() == {
        "attributes": {"latency": 0, "jitter": 0},
        "name": "latency_downstream",
        "type": "latency",
        "stream": "downstream",
        "toxicity": 1,
    }
    server.fails(409, "toxic already exists", "POST", toxics, {"type": "latency"})
    up = {"type": "timeout", "stream": "UpStream", "name": "u", "toxicity": 0.5, "attributes": {"timeout": 7, "x": 1}}
    made = server.call("POST", toxics, up)
    assert made.json() == {**up, "attributes": {"timeout": 7}}
    assert [toxic["name"] for toxic in server.call("GET", toxics).json()] == ["u", "latency_downstream"]
    for method, latency in (("POST", 5), ("PATCH", 6)):
        change = {"attributes": {"latency": latency}, "toxicity": 0.25, "name": "other", "stream": "upstream"}
        changed = server.call(method, f"{toxics}/latency_downstream", change)
        assert changed.status_code == 200
        assert changed.json()["attributes"] == {"latency": latency, "jitter": 0}
        assert (changed.json()["name"], changed.json()["stream"]) == ("latency_downstream", "downstream")
    assert server.call("GET", f"{toxics}/latency_downstream").json() == changed.json()
    gone = server.call("DELETE", f"{toxics}/u")
    assert (gone.status_code, gone.content) == (204, b"")


def test_populate_keeps_equal_proxies_and_replaces_others(server: Server, upstream: Upstream) -> None:
    server.call("POST", "/proxies", {"name": "p", "listen": "127.0.0.1:0", "upstream": upstream.address})
    listen = server.call("GET", "/proxies/p").json()["listen"]
    server.call("POST", "/proxies/p/toxics", {"type": "noop"})
    near, far = upstream.connect(listen)
    same = {"name": "p", "listen": listen, "upstream": upstream.address, "enabled": False}
    new = {"name": "q", "listen": "127.0.0.1:0", "upstream": upstream.address}
    answer = server.call("POST", "/populate", [same, new])
    assert answer.status_code == 201
    kept, made = answer.json()["proxies"]
    assert (kept["enabled"], [toxic["name"] for toxic in kept["toxics"]]) == (True, ["noop_downstream"])
    assert made["name"] == "q"
    passes(near, far)
    (moved,) = server.call("POST", "/populate", [{**same, "upstream": "127.0.0.1:1"}]).json()["proxies"]
    assert (moved["upstream"], moved["toxics"]) == ("127.0.0.1:1", [])
    assert near.recv(1) == b""
    assert set(server.call("GET", "/proxies").json()) == {"p", "q"}
    empty = server.call("POST", "/populate", [])
    assert (empty.status_code, empty.json()) == (201, {"proxies": None})
    bad = server.call("POST", "/populate", [new, {"name": "r"}])
    assert bad.status_code == 400
    assert bad.json()["error"] == "missing required field: upstream at proxy 2"


@pytest.mark.parametrize("path", ["/reset", "/reset?seed=7"])
def test_reset_enables_everything_and_removes_toxics(server: Server, upstream: Upstream, path: str) -> None:
    for name in ("p", "q"):
        server.call("POST", "/proxies", {"name": name, "listen": "127.0.0.1:0", "upstream": upstream.address})
        server.call("POST", f"/proxies/{name}/toxics", {"type": "timeout"})
    server.call("POST", "/proxies/q", {"enabled": False})
    answer = server.call("POST", path)
    assert (answer.status_code, answer.content) == (204, b"")
    for proxy in server.call("GET", "/proxies").json().values():
        assert (proxy["enabled"], proxy["toxics"]) == (True, [])
        passes(*upstream.connect(proxy["listen"]))


def test_the_python_client_works_unchanged(client: Any, upstream: Upstream) -> None:
    assert client.running()
    assert "version" in json.loads(client.version())
    proxy = client.create(upstream=upstream.address, name="p")
    with pytest.raises(ProxyExists):
        client.create(upstream=upstream.address, name="p")
    assert client.get_proxy("p").listen == proxy.listen
    assert client.get_proxy("q") is None
    near, far = upstream.connect(proxy.listen)
    passes(near, far)
    passes(far, near)
    with proxy.down():
        assert not client.get_proxy("p").enabled
        assert near.recv(1) == b""
        with pytest.raises(ConnectionRefusedError):
            upstream.connect(proxy.listen)
    passes(*upstream.connect(proxy.listen))
    proxy.add_toxic(type="latency", attributes={"latency": 5, "jitter": 1})
    toxic = proxy.get_toxic("latency_downstream")
    assert (toxic.type, toxic.stream, toxic.toxicity) == ("latency", "downstream", 1)
    assert toxic.attributes == {"latency": 5, "jitter": 1}
    with pytest.raises(InvalidToxic):
        proxy.add_toxic(type="nonsense")
    with pytest.raises(ProxyExists):
        proxy.add_toxic(type="latency")
    assert proxy.destroy_toxic("latency_downstream")
    with pytest.raises(NotFound):
        proxy.destroy_toxic("latency_downstream")
    assert proxy.toxics() == {}
    (other,) = client.populate([{"name": "q", "upstream": upstream.address, "listen": "127.0.0.1:0"}])
    assert client.reset()
    assert client.destroy(other)
    client.destroy_all()
    assert client.proxies() == {}
