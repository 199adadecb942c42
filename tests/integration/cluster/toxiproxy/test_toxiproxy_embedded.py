"""What the embedded server does better than the real one, each with its reason."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from pytest_kcontroller.cluster.process.toxiproxy_client import ToxiproxyClient
from pytest_kcontroller.cluster.timing import scaled
from tests.tools.toxiproxy_servers import (
    QUIET_S,
    REAL,
    Server,
    Upstream,
    drawn,
    drawn_from,
    embedded,
    real,
    silent,
)


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


@pytest.mark.parametrize(
    ("average", "variation"), [(0, 0), (1, -1), (-1, 0), (10, 12), (0, 2), (-1, 2)], ids=lambda number: str(number)
)
def test_a_slicer_that_ends_the_real_server_is_refused(upstream: Upstream, average: int, variation: int) -> None:
    toxic = {"type": "slicer", "attributes": {"average_size": average, "size_variation": variation}}
    with embedded() as server:
        server.call("POST", "/proxies", {"name": "p", "upstream": upstream.address, "listen": "127.0.0.1:0"})
        words = "slicer needs average_size + size_variation >= 1 and size_variation <= average_size + 1"
        server.fails(400, f"bad request body: {words}", "POST", "/proxies/p/toxics", toxic)
        assert server.call("GET", "/proxies/p/toxics").json() == []


def test_a_negative_rate_ends_the_real_server_and_passes_nothing_here(upstream: Upstream) -> None:
    with embedded() as server:
        wanted = {"name": "p", "upstream": upstream.address, "listen": "127.0.0.1:0"}
        listen = server.call("POST", "/proxies", wanted).json()["listen"]
        toxic = {"type": "bandwidth", "stream": "upstream", "attributes": {"rate": -1}}
        assert server.call("POST", "/proxies/p/toxics", toxic).status_code == 200
        silent(*upstream.connect(listen))


def test_a_proxy_with_a_slash_in_its_name_is_shown_and_deleted() -> None:
    """The real server makes it, and has no path to it."""
    with embedded() as server:
        wanted = {"name": "a/b", "upstream": "127.0.0.1:1", "listen": "127.0.0.1:0"}
        assert server.call("POST", "/proxies", wanted).status_code == 201
        assert server.call("GET", "/proxies/a%2Fb").json()["name"] == "a/b"
        assert server.call("DELETE", "/proxies/a%2Fb").status_code == 204
        assert server.call("GET", "/proxies").json() == {}


def test_an_update_that_is_refused_changes_nothing() -> None:
    """The real server keeps the attributes before the wrong one."""
    with embedded() as server:
        server.call("POST", "/proxies", {"name": "p", "upstream": "127.0.0.1:1", "listen": "127.0.0.1:0"})
        toxic = server.call("POST", "/proxies/p/toxics", {"type": "latency", "attributes": {"latency": 1}}).json()
        for change in ({"attributes": {"latency": 5, "jitter": "x"}}, {"attributes": {"latency": 5}, "toxicity": "x"}):
            assert server.call("PATCH", "/proxies/p/toxics/latency_downstream", change).status_code == 400
            assert server.call("GET", "/proxies/p/toxics").json() == [toxic]


def test_a_long_list_of_proxies_is_one_request() -> None:
    with embedded() as server:
        entry = {"name": "p", "upstream": "127.0.0.1:1", "listen": "127.0.0.1:0", "unknown": "x" * 3_000_000}
        assert server.call("POST", "/populate", [entry]).status_code == 201


def test_toxicity_is_drawn_from_the_seed() -> None:
    first, again, other = map(drawn_from, (7, 7, 8))
    assert first == again != other
    assert {".", "L"} == set(first)


def test_a_reset_may_name_another_seed(upstream: Upstream) -> None:
    with embedded("--seed", "7") as server:
        client = ToxiproxyClient(f"http://{server.host}:{server.port}")
        for query, seed in (("?seed=8", 8), ("", 8), ("?seed=7", 7)):
            client.call("POST", f"/reset{query}")
            assert drawn(client, upstream) == drawn_from(seed)
        server.fails(400, "seed must be a number, not 'x'", "POST", "/reset?seed=x")
        client.close()


@pytest.mark.parametrize("options", [(), ("--strict",), None], ids=["ours", "strict", "real"])
def test_who_is_hit_stays_so_unless_it_is_to_be_as_in_the_real_server(
    upstream: Upstream, options: tuple[str, ...] | None
) -> None:
    """There a toxic that is added draws anew for the one before it."""
    if options is None and REAL is None:
        pytest.skip("no real toxiproxy server")
    with real() if options is None else embedded(*options) as server:
        proxy = {"name": "p", "upstream": upstream.address, "listen": "127.0.0.1:0"}
        listen = server.call("POST", "/proxies", proxy).json()["listen"]
        limit = {"type": "limit_data", "stream": "upstream", "toxicity": 0.5, "attributes": {"bytes": 1}}
        server.call("POST", "/proxies/p/toxics", limit)
        spared = [pair for pair in [upstream.connect(listen) for _ in range(40)] if not is_hit(*pair)]
        assert 0 < len(spared) < 40
        server.call("POST", "/proxies/p/toxics", {"type": "noop", "stream": "upstream"})
        assert any(is_hit(*pair) for pair in spared) == (options != ())
        assert ("Logger" in server.call("GET", "/proxies/p").json()) == (options != ())


def is_hit(near: socket.socket, far: socket.socket) -> bool:
    """Whether the connection ends behind one byte."""
    near.sendall(b"xy")
    return far.recv(1) + far.recv(1) == b"x"


def test_a_port_that_is_taken_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "pytest_kcontroller.cluster.toxiproxy", "--port", str(port)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=scaled(30), check=False)
    assert ended.returncode == 6
    assert ended.stderr.startswith(f"cannot listen on 127.0.0.1:{port}: ")
    assert len(ended.stderr.splitlines()) == 1
