"""What a proxy does to connections, without toxics and while toxics come and go."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest
import requests

from pytest_kcontroller.cluster.timing import scaled
from tests.tools.toxiproxy_servers import (
    LIMIT_S,
    Server,
    Upstream,
    passes,
)


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
