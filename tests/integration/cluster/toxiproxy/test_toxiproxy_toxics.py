"""What each toxic does to a connection."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from pytest_kcontroller.cluster.timing import scaled
from tests.tools.toxiproxy_servers import (
    LIMIT_S,
    QUIET_S,
    Upstream,
    clock,
    passes,
    silent,
)


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
