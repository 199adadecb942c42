"""What a proxy does to connections, without toxics and while toxics come and go."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import threading
from typing import Any

import pytest
import requests

from pytest_kcontroller.cluster.timing import scaled
from tests.tools.toxiproxy_servers import LIMIT_S, QUIET_S, Server, Upstream, passes, read_all


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


@pytest.mark.parametrize("listen", [None, ":0", "[::]:0", "0.0.0.0:0"])
def test_all_interfaces_are_one_port_for_both_families(server: Server, upstream: Upstream, listen: str | None) -> None:
    wanted = {"name": "p", "listen": listen, "upstream": upstream.address, "enabled": None}
    told = server.call("POST", "/proxies", wanted).json()["listen"]
    assert told.startswith("[::]:")
    for host in ("127.0.0.1", "[::1]"):
        passes(*upstream.connect(told.replace("[::]", host)))


def test_a_host_name_is_resolved_and_told_as_its_number(server: Server, upstream: Upstream) -> None:
    wanted = {"name": "p", "listen": "localhost:0", "upstream": upstream.address.replace("127.0.0.1", "localhost")}
    told = server.call("POST", "/proxies", wanted).json()["listen"]
    assert told.startswith("127.0.0.1:")
    passes(*upstream.connect(told))


@pytest.mark.parametrize("path", ["/populate", "/proxies/p"])
def test_the_same_place_by_another_name_changes_nothing(
    proxy: Any, server: Server, upstream: Upstream, path: str
) -> None:
    near, far = upstream.connect(proxy.listen)
    proxy.add_toxic(type="noop")
    again = {"name": "p", "listen": proxy.listen.replace("127.0.0.1", "localhost"), "upstream": upstream.address}
    assert server.call("POST", path, [again] if path == "/populate" else again).ok
    passes(near, far)
    assert set(proxy.toxics()) == {"noop_downstream"}


@pytest.mark.parametrize("field", ["listen", "upstream"])
def test_a_move_closes_connections_and_keeps_toxics(proxy: Any, server: Server, upstream: Upstream, field: str) -> None:
    near, far = upstream.connect(proxy.listen)
    proxy.add_toxic(type="noop", stream="upstream")
    other = Upstream()
    moved = server.call("PATCH", "/proxies/p", {field: "127.0.0.1:0" if field == "listen" else other.address}).json()
    assert near.recv(1) == far.recv(1) == b""
    assert [toxic["name"] for toxic in moved["toxics"]] == ["noop_upstream"]
    assert (moved["listen"] == proxy.listen) == (field == "upstream")
    passes(*(upstream if field == "listen" else other).connect(moved["listen"]))
    other.close()


def test_a_wrong_listen_leaves_a_proxy_as_it_is(proxy: Any, server: Server, upstream: Upstream) -> None:
    near, far = upstream.connect(proxy.listen)
    assert server.call("PATCH", "/proxies/p", {"listen": "nonsense"}).status_code == 500
    passes(near, far)


def test_a_taken_listen_stops_a_proxy_that_can_be_moved_again(proxy: Any, server: Server, upstream: Upstream) -> None:
    near, _ = upstream.connect(proxy.listen)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        server.fails(500, f"listen tcp {place}: bind: address already in use", "PATCH", "/proxies/p", {"listen": place})
    assert near.recv(1) == b""
    assert server.call("GET", "/proxies/p").json() | {"Logger": {}} == {
        "name": "p",
        "listen": place,
        "upstream": upstream.address,
        "enabled": False,
        "Logger": {},
        "toxics": [],
    }
    server.call("PATCH", "/proxies/p", {"listen": proxy.listen, "enabled": True})
    passes(*upstream.connect(proxy.listen))


def test_a_proxy_that_is_replaced_lets_its_connections_go(proxy: Any, server: Server, upstream: Upstream) -> None:
    near, far = upstream.connect(proxy.listen)
    wanted = {"name": "p", "listen": proxy.listen, "upstream": "127.0.0.1:1", "enabled": False}
    assert server.call("POST", "/populate", [wanted]).json()["proxies"][0]["enabled"] is False
    assert near.recv(1) == far.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        upstream.connect(proxy.listen)


def test_a_burst_of_200_connections_fits_into_the_backlog(proxy: Any, server: Server) -> None:
    """While the server stands still, so that it accepts none of them."""
    host, _, port = proxy.listen.rpartition(":")
    clients = [socket.socket() for _ in range(200)]
    server.process.send_signal(signal.SIGSTOP)
    try:
        with selectors.DefaultSelector() as waiting:
            for client in clients:
                client.setblocking(False)
                client.connect_ex((host, int(port)))
                waiting.register(client, selectors.EVENT_WRITE)
            while waiting.get_map():
                ready = waiting.select(scaled(LIMIT_S))
                assert ready, f"{len(waiting.get_map())} of 200 are not connected"
                for key, _ in ready:
                    waiting.unregister(key.fileobj)
    finally:
        server.process.send_signal(signal.SIGCONT)
    assert [client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) for client in clients] == [0] * 200
    for client in clients:
        client.close()


def test_of_many_that_make_one_proxy_at_once_one_succeeds(server: Server) -> None:
    statuses: list[int] = []
    wanted = {"name": "p", "listen": "localhost:0", "upstream": "127.0.0.1:1"}

    def create() -> None:
        with requests.Session() as http:
            http.trust_env = False
            url = f"http://{server.host}:{server.port}/proxies"
            statuses.append(http.post(url, json=wanted, timeout=scaled(LIMIT_S)).status_code)

    threads = [threading.Thread(target=create) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [201] + [409] * 19


@pytest.mark.parametrize("kind", [None, "noop", "latency", "slicer"])
def test_much_data_passes_in_both_directions_at_once(proxy: Any, upstream: Upstream, kind: str | None) -> None:
    attributes = {"average_size": 8000, "size_variation": 8000} if kind == "slicer" else {}
    for stream in ("upstream", "downstream") if kind else ():
        proxy.add_toxic(type=kind, stream=stream, attributes=attributes)
    ends = upstream.connect(proxy.listen)
    data = os.urandom(1 << 20) * 16
    senders = [threading.Thread(target=end.sendall, args=(data,)) for end in ends]
    got = [bytearray(), bytearray()]

    def receive(number: int) -> None:
        while len(got[number]) < len(data) and (chunk := ends[number].recv(1 << 18)):
            got[number] += chunk

    receivers = [threading.Thread(target=receive, args=(number,)) for number in (0, 1)]
    for thread in (*senders, *receivers):
        thread.start()
    for thread in (*senders, *receivers):
        thread.join()
    assert bytes(got[0]) == data
    assert bytes(got[1]) == data


def test_one_end_that_says_no_more_closes_the_other_as_a_whole(proxy: Any, upstream: Upstream) -> None:
    near, far = upstream.connect(proxy.listen)
    near.sendall(b"last")
    near.shutdown(socket.SHUT_WR)
    assert read_all(far) == b"last"
    assert near.recv(1) == b""


def test_what_is_under_way_to_an_end_that_says_no_more_arrives(proxy: Any, upstream: Upstream) -> None:
    proxy.add_toxic(type="latency", attributes={"latency": 300})
    near, far = upstream.connect(proxy.listen)
    passes(near, far)
    far.sendall(b"answer")
    far.shutdown(socket.SHUT_WR)
    assert read_all(near) == b"answer"


def test_a_proxy_is_disabled_while_a_reader_does_not_read(proxy: Any, upstream: Upstream) -> None:
    near, _ = upstream.connect(proxy.listen)
    near.settimeout(QUIET_S)
    with pytest.raises(TimeoutError):
        while True:
            near.send(bytes(65536))
    proxy.disable()
    near.settimeout(scaled(LIMIT_S))
    with contextlib.suppress(ConnectionResetError):  # it had not read all of it either
        assert near.recv(1) == b""


def test_a_connection_that_is_younger_than_reset_peer_ends_with_rst_whatever_ends_it(
    proxy: Any, upstream: Upstream
) -> None:
    proxy.add_toxic(type="reset_peer", toxicity=0.0)
    near, far = upstream.connect(proxy.listen)
    passes(near, far)
    proxy.disable()
    for end in (near, far):
        with pytest.raises(ConnectionResetError):
            end.recv(1)
