"""One suite for two servers: the embedded toxiproxy and the real one (its binary in KCONTROLLER_TOXIPROXY_SERVER)."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
import requests
import toxiproxy
from toxiproxy.exceptions import InvalidToxic, NotFound, ProxyExists

from pytest_kcontroller.cluster.timing import scaled

REAL = os.environ.get("KCONTROLLER_TOXIPROXY_SERVER")
LIMIT_S = 10.0
QUIET_S = 0.3
"""So long nothing may arrive through a black hole."""


class Server:
    """A toxiproxy server and raw HTTP to it."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.http = requests.Session()
        self.http.trust_env = False

    def call(self, method: str, path: str, body: object | None = None, **more: Any) -> requests.Response:
        url = f"http://{self.host}:{self.port}{path}"
        return self.http.request(method, url, json=body, timeout=scaled(LIMIT_S), **more)

    def fails(self, status: int, message: str, method: str, path: str, body: object | None = None) -> None:
        answer = self.call(method, path, body)
        assert (answer.status_code, answer.json()) == (status, {"error": message, "status": status})
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"


def _embedded(*options: str) -> tuple[subprocess.Popen[bytes], int]:
    command = [sys.executable, "-m", "pytest_kcontroller.cluster.toxiproxy", "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    return process, int(json.loads(process.stdout.readline())["address"].rpartition(":")[2])


def _real(binary: str) -> tuple[subprocess.Popen[bytes], int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([binary, "-host", "127.0.0.1", "-port", str(port)], stdout=subprocess.DEVNULL)

    async def ready() -> None:
        async with asyncio.timeout(scaled(LIMIT_S)):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    assert process.poll() is None
                    await asyncio.sleep(0.02)
                else:
                    writer.close()
                    return

    asyncio.run(ready())
    return process, port


@contextmanager
def serving(process: subprocess.Popen[bytes], port: int) -> Iterator[Server]:
    server = Server("127.0.0.1", port)
    try:
        yield server
        process.terminate()
        process.wait(scaled(LIMIT_S))
    finally:
        server.http.close()
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def embedded(*options: str) -> AbstractContextManager[Server]:
    return serving(*_embedded(*options))


@pytest.fixture(
    scope="module",
    params=["embedded", pytest.param("real", marks=pytest.mark.skipif(not REAL, reason="no real toxiproxy server"))],
)
def running(request: pytest.FixtureRequest) -> Iterator[Server]:
    with embedded() if request.param == "embedded" else serving(*_real(str(REAL))) as server:
        yield server


@pytest.fixture
def server(running: Server) -> Iterator[Server]:
    """Without proxies."""
    yield running
    for name in running.call("GET", "/proxies").json():
        assert running.call("DELETE", f"/proxies/{name}").status_code == 204


@pytest.fixture
def client(server: Server) -> Any:
    found = toxiproxy.Toxiproxy()
    found.update_api_consumer(server.host, server.port)
    return found


class Upstream:
    """Accepts connections and hands them to the test."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(scaled(LIMIT_S))
        self._open: list[socket.socket] = []
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"

    def connect(self, listen: str) -> tuple[socket.socket, socket.socket]:
        """Both ends of a new connection through a proxy."""
        host, _, port = listen.rpartition(":")
        near = socket.create_connection((host.strip("[]"), int(port)), scaled(LIMIT_S))
        self._open.append(near)
        far = self._listener.accept()[0]
        far.settimeout(scaled(LIMIT_S))
        self._open.append(far)
        return near, far

    def close(self) -> None:
        for end in [*self._open, self._listener]:
            end.close()


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    found = Upstream()
    yield found
    found.close()


def passes(source: socket.socket, sink: socket.socket, data: bytes = b"data") -> None:
    source.sendall(data)
    got = b""
    while len(got) < len(data):
        chunk = sink.recv(len(data) - len(got))
        assert chunk, "end of stream"
        got += chunk
    assert got == data


def silent(source: socket.socket, sink: socket.socket) -> None:
    source.sendall(b"lost")
    before = sink.gettimeout()
    sink.settimeout(QUIET_S)
    with pytest.raises(TimeoutError):
        sink.recv(1)
    sink.settimeout(before)


def clock() -> float:
    loop = asyncio.new_event_loop()
    try:
        return loop.time()
    finally:
        loop.close()


# The HTTP API


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


def test_reset_enables_everything_and_removes_toxics(server: Server, upstream: Upstream) -> None:
    for name in ("p", "q"):
        server.call("POST", "/proxies", {"name": name, "listen": "127.0.0.1:0", "upstream": upstream.address})
        server.call("POST", f"/proxies/{name}/toxics", {"type": "timeout"})
    server.call("POST", "/proxies/q", {"enabled": False})
    answer = server.call("POST", "/reset")
    assert (answer.status_code, answer.content) == (204, b"")
    for proxy in server.call("GET", "/proxies").json().values():
        assert (proxy["enabled"], proxy["toxics"]) == (True, [])
        passes(*upstream.connect(proxy["listen"]))


# toxiproxy-python


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


# What happens to connections


@pytest.fixture
def proxy(client: Any, upstream: Upstream) -> Any:
    return client.create(upstream=upstream.address, name="p")


def test_disable_ends_connections_with_eof_on_both_sides(proxy: Any, upstream: Upstream) -> None:
    near, far = upstream.connect(proxy.listen)
    passes(near, far)
    proxy.disable()
    assert near.recv(1) == b""
    assert far.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        upstream.connect(proxy.listen)
    proxy.enable()
    passes(*upstream.connect(proxy.listen))


def test_a_dead_upstream_accepts_and_closes(client: Any, upstream: Upstream) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        proxy = client.create(upstream=f"127.0.0.1:{probe.getsockname()[1]}", name="dead")
        host, _, port = proxy.listen.rpartition(":")
        with socket.create_connection((host, int(port)), scaled(LIMIT_S)) as near:
            assert near.recv(1) == b""


@pytest.mark.parametrize("stream", ["upstream", "downstream"])
def test_timeout_is_a_black_hole_in_one_direction_and_closes_when_removed(
    proxy: Any, upstream: Upstream, stream: str
) -> None:
    near, far = upstream.connect(proxy.listen)
    passes(near, far)
    proxy.add_toxic(type="timeout", stream=stream, attributes={"timeout": 0})
    source, sink = (near, far) if stream == "upstream" else (far, near)
    silent(source, sink)
    passes(sink, source)
    proxy.destroy_toxic(f"timeout_{stream}")
    assert near.recv(1) == b""
    assert far.recv(1) == b""
    passes(*upstream.connect(proxy.listen))


def test_timeout_above_zero_closes_after_silence(proxy: Any, upstream: Upstream) -> None:
    proxy.add_toxic(type="timeout", stream="upstream", attributes={"timeout": 100})
    near, far = upstream.connect(proxy.listen)
    assert far.recv(1) == b""
    assert near.recv(1) == b""


def test_latency_delays_data_and_not_the_connect(proxy: Any, upstream: Upstream) -> None:
    proxy.add_toxic(type="latency", attributes={"latency": 400, "jitter": 0})
    began = clock()
    near, far = upstream.connect(proxy.listen)
    connected = clock()
    assert connected - began < 0.4
    passes(near, far)  # the other direction is not delayed
    assert clock() - connected < 0.4
    sent = clock()
    passes(far, near)
    assert 0.39 < clock() - sent < scaled(LIMIT_S)
    proxy.destroy_toxic("latency_downstream")
    passes(far, near)


def test_reset_peer_resets_new_connections_and_ends_old_ones(proxy: Any, upstream: Upstream) -> None:
    old, _ = upstream.connect(proxy.listen)
    proxy.add_toxic(type="reset_peer", stream="upstream", attributes={"timeout": 0})
    new, new_far = upstream.connect(proxy.listen)
    silent_until_data(new)
    new.sendall(b"x")
    with pytest.raises(ConnectionResetError):
        new.recv(1)
    with pytest.raises(ConnectionResetError):
        new_far.recv(1)
    old.sendall(b"x")
    assert old.recv(1) == b""


def silent_until_data(end: socket.socket) -> None:
    """An idle connection is not reset."""
    before = end.gettimeout()
    end.settimeout(QUIET_S)
    with pytest.raises(TimeoutError):
        end.recv(1)
    end.settimeout(before)


@pytest.mark.parametrize("kind", ["timeout", "bandwidth", "limit_data", "latency"])
def test_toxicity_0_has_no_effect(proxy: Any, upstream: Upstream, kind: str) -> None:
    attributes = {"latency": 60_000} if kind == "latency" else {}
    old = upstream.connect(proxy.listen)
    for stream in ("upstream", "downstream"):
        proxy.add_toxic(type=kind, stream=stream, toxicity=0.0, attributes=attributes)
    for near, far in (old, upstream.connect(proxy.listen)):
        passes(near, far)
        passes(far, near)


def test_limit_data_counts_per_connection(proxy: Any, upstream: Upstream) -> None:
    proxy.add_toxic(type="limit_data", stream="upstream", attributes={"bytes": 10})
    for _ in range(2):
        near, far = upstream.connect(proxy.listen)
        passes(near, far, b"12345")
        near.sendall(b"67890abc")
        got = b""
        while chunk := far.recv(64):
            got += chunk
        assert got == b"67890"


def test_bandwidth_limits_the_rate_and_0_passes_nothing(proxy: Any, upstream: Upstream) -> None:
    proxy.add_toxic(type="bandwidth", stream="upstream", attributes={"rate": 20})
    near, far = upstream.connect(proxy.listen)
    began = clock()
    passes(near, far, b"x" * 10_000)
    assert 0.35 < clock() - began < scaled(LIMIT_S)
    proxy.destroy_toxic("bandwidth_upstream")
    proxy.add_toxic(type="bandwidth", stream="upstream", attributes={"rate": 0})
    silent(near, far)


def test_slicer_cuts_chunks_and_waits_between(proxy: Any, upstream: Upstream) -> None:
    attributes = {"average_size": 100, "size_variation": 10, "delay": 20_000}
    proxy.add_toxic(type="slicer", stream="upstream", attributes=attributes)
    near, far = upstream.connect(proxy.listen)
    data = bytes(range(250)) * 4
    began = clock()
    near.sendall(data)
    got: list[bytes] = []
    while sum(map(len, got)) < len(data):
        got.append(far.recv(len(data)))
    assert b"".join(got) == data
    assert len(got[0]) <= 110 and len(got) >= 5
    assert clock() - began > 0.02 * 5
    passes(far, near, data)


def test_slow_close_delays_the_end_of_the_stream(proxy: Any, upstream: Upstream) -> None:
    proxy.add_toxic(type="slow_close", stream="upstream", attributes={"delay": 300})
    near, far = upstream.connect(proxy.listen)
    passes(near, far)
    began = clock()
    near.close()
    assert far.recv(1) == b""
    assert clock() - began > 0.29


def test_changes_at_the_same_time_keep_the_order_of_the_bytes(proxy: Any, server: Server, upstream: Upstream) -> None:
    near, far = upstream.connect(proxy.listen)
    data = b"".join(number.to_bytes(4, "big") for number in range(500_000))

    def change(number: int) -> None:
        with requests.Session() as http:
            http.trust_env = False
            for _ in range(10):
                at = f"http://{server.host}:{server.port}/proxies/p/toxics"
                toxic = {"name": f"t{number}", "type": "latency", "stream": "upstream", "attributes": {"latency": 1}}
                assert http.post(at, json=toxic, timeout=scaled(LIMIT_S)).status_code == 200
                assert http.delete(f"{at}/t{number}", timeout=scaled(LIMIT_S)).status_code == 204

    def send() -> None:
        for at in range(0, len(data), 8192):
            near.sendall(data[at : at + 8192])

    threads = [threading.Thread(target=change, args=(number,)) for number in range(4)] + [threading.Thread(target=send)]
    for thread in threads:
        thread.start()
    got = bytearray()
    while len(got) < len(data):
        chunk = far.recv(65536)
        assert chunk
        got += chunk
    for thread in threads:
        thread.join()
    assert bytes(got) == data


def test_hundreds_of_proxies(server: Server, upstream: Upstream) -> None:
    for number in range(300):
        wanted = {"name": f"p{number}", "listen": f"127.2.{number // 20 + 1}.{number % 20 + 1}:0"}
        assert server.call("POST", "/proxies", wanted | {"upstream": upstream.address}).status_code == 201
    proxies = server.call("GET", "/proxies").json()
    assert len(proxies) == 300
    pairs = [upstream.connect(proxy["listen"]) for proxy in proxies.values()]
    for near, far in pairs:
        passes(near, far)
    server.call("POST", "/proxies/p7", {"enabled": False})
    names = list(proxies)
    for name, (near, far) in zip(names, pairs, strict=True):
        if name == "p7":
            assert near.recv(1) == b""
        else:
            passes(far, near)


def test_no_byte_is_lost_or_reordered_while_toxics_change(proxy: Any, upstream: Upstream) -> None:
    near, far = upstream.connect(proxy.listen)
    data = b"".join(number.to_bytes(4, "big") for number in range(200_000))
    sender = threading.Thread(target=near.sendall, args=(data,))
    got = bytearray()
    sender.start()
    changes = 0
    while len(got) < len(data):
        if changes < 10 and len(got) >= changes * 50_000:
            if changes % 2:
                proxy.destroy_toxic("latency_upstream")
            else:
                proxy.add_toxic(type="latency", stream="upstream", attributes={"latency": 5, "jitter": 0})
            changes += 1
        chunk = far.recv(65536)
        assert chunk
        got += chunk
    sender.join()
    assert changes == 10
    assert bytes(got) == data


# Only ours


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [("latency", {"latency": 1}), ("bandwidth", {"rate": 1_000_000}), ("slicer", {"average_size": 4000})],
)
def test_a_reader_that_does_not_read_holds_its_writer_back_and_loses_nothing(
    upstream: Upstream, kind: str, attributes: dict[str, int]
) -> None:
    """The real server hangs here: a change waits for links that are stuck (Shopify/toxiproxy#159)."""
    with embedded() as server:
        held_back(server, upstream, {"name": "t", "type": kind, "stream": "upstream", "attributes": attributes})


def held_back(server: Server, upstream: Upstream, toxic: dict[str, object]) -> None:
    wanted = {"name": "p", "upstream": upstream.address, "listen": "127.0.0.1:0"}
    proxy = server.call("POST", "/proxies", wanted).json()
    near, far = upstream.connect(proxy["listen"])
    near.settimeout(QUIET_S)
    sent = 0
    block = b"".join(number.to_bytes(4, "big") for number in range(16_384))
    with pytest.raises(TimeoutError):
        while sent < 200 * 2**20:
            sent += near.send(block[sent % len(block) :])
    for change in (toxic, {"name": "n", "type": "noop", "stream": "upstream"}):
        assert server.call("POST", "/proxies/p/toxics", change).status_code == 200
    for name in ("n", "t"):
        assert server.call("DELETE", f"/proxies/p/toxics/{name}").status_code == 204
    got = bytearray()
    while len(got) < sent:
        chunk = far.recv(2**20)
        assert chunk, f"{len(got)} of {sent} bytes"
        got += chunk
    assert bytes(got) == (block * (sent // len(block) + 1))[:sent]


def test_a_slicer_that_ends_the_real_server_is_refused() -> None:
    with embedded() as server:
        server.call("POST", "/proxies", {"name": "p", "upstream": "127.0.0.1:1", "listen": "127.0.0.1:0"})
        for attributes in ({}, {"average_size": 10, "size_variation": 10}, {"average_size": 5, "size_variation": -1}):
            words = "bad request body: slicer needs average_size >= 1 and 0 <= size_variation < average_size"
            wanted = {"type": "slicer", "attributes": attributes}
            server.fails(400, words, "POST", "/proxies/p/toxics", wanted)


def test_toxicity_is_drawn_from_the_seed(upstream: Upstream) -> None:
    drawn = []
    for seed in (7, 7, 8):
        with embedded("--seed", str(seed)) as server:
            proxy = server.call(
                "POST", "/proxies", {"name": "p", "upstream": upstream.address, "listen": "127.0.0.1:0"}
            )
            toxic = {"type": "limit_data", "stream": "upstream", "toxicity": 0.5}
            server.call("POST", "/proxies/p/toxics", toxic)
            cut = ""
            for _ in range(24):
                near, far = upstream.connect(proxy.json()["listen"])
                near.sendall(b"x")
                cut += "." if far.recv(1) else "L"
            drawn.append(cut)
    assert drawn[0] == drawn[1] != drawn[2]
    assert {".", "L"} == set(drawn[0])


def test_a_port_that_is_taken_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "pytest_kcontroller.cluster.toxiproxy", "--port", str(port)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=scaled(30), check=False)
    assert ended.returncode == 6
    assert ended.stderr.startswith(f"cannot listen on 127.0.0.1:{port}: ")
    assert len(ended.stderr.splitlines()) == 1
