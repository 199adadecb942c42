"""What each toxic does to a connection."""

from __future__ import annotations

import os
import socket
from typing import Any

import pytest

from pytest_kcontroller.cluster.timing import scaled
from tests.tools.toxiproxy_servers import LIMIT_S, QUIET_S, Server, Upstream, clock, exactly, passes, read_all, silent

HOUR_MS = 3_600_000


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
    proxy.add_toxic(type="latency", attributes={"latency": HOUR_MS, "jitter": 0})
    near, far = upstream.connect(proxy.listen)
    passes(near, far)  # the other direction is not delayed
    proxy.destroy_toxic("latency_downstream")
    proxy.add_toxic(type="latency", attributes={"latency": 400, "jitter": 0})
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
    """Who reads late finds several chunks at once: with pauses of an hour it is one."""
    data = bytes(range(250)) * 4
    for pause_us in (HOUR_MS * 1000, 20_000):
        attributes = {"average_size": 100, "size_variation": 10, "delay": pause_us}
        proxy.add_toxic(type="slicer", stream="upstream", attributes=attributes)
        near, far = upstream.connect(proxy.listen)
        began = clock()
        near.sendall(data)
        got = far.recv(len(data))
        if pause_us > 20_000:
            assert len(got) <= 110
            proxy.destroy_toxic("slicer_upstream")
        got += exactly(far, len(data) - len(got))
        assert got == data
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


# What is under way when toxics change


def test_what_a_latency_holds_arrives_when_it_is_removed(proxy: Any, upstream: Upstream) -> None:
    near, far = upstream.connect(proxy.listen)
    proxy.add_toxic(type="latency", stream="upstream", attributes={"latency": HOUR_MS})
    for part in (b"one", b"two"):
        near.sendall(part)
    proxy.destroy_toxic("latency_upstream")
    assert exactly(far, 6) == b"onetwo"
    passes(near, far)


@pytest.mark.parametrize("kind", ["bandwidth", "slow_close"])
def test_what_a_toxic_holds_arrives_when_it_is_removed(proxy: Any, upstream: Upstream, kind: str) -> None:
    near, far = upstream.connect(proxy.listen)
    attributes = {"rate": 0} if kind == "bandwidth" else {"delay": HOUR_MS}
    proxy.add_toxic(type=kind, stream="upstream", attributes=attributes)
    near.sendall(b"data")
    near.close()
    proxy.destroy_toxic(f"{kind}_upstream")
    assert read_all(far) == b"data"


def test_a_toxic_beside_one_that_holds_data_does_not_let_it_go(proxy: Any, upstream: Upstream) -> None:
    near, far = upstream.connect(proxy.listen)
    proxy.add_toxic(type="bandwidth", stream="upstream", attributes={"rate": 0})
    near.sendall(b"data")
    proxy.add_toxic(type="noop", stream="downstream")
    proxy.destroy_toxic("noop_downstream")
    silent(near, far)


def test_data_that_passed_a_limit_still_arrives_through_a_latency(proxy: Any, upstream: Upstream) -> None:
    proxy.add_toxic(type="limit_data", stream="upstream", attributes={"bytes": 4})
    proxy.add_toxic(type="latency", stream="upstream", attributes={"latency": 300})
    near, far = upstream.connect(proxy.listen)
    near.sendall(b"data and more")
    assert read_all(far) == b"data"


def test_a_limit_counts_from_when_it_was_added_again(proxy: Any, upstream: Upstream) -> None:
    near, far = upstream.connect(proxy.listen)
    for _ in range(3):
        proxy.add_toxic(type="limit_data", stream="upstream", attributes={"bytes": 10})
        passes(near, far, b"12345")
        proxy.destroy_toxic("limit_data_upstream")


def test_a_limit_that_is_lowered_below_what_has_passed_closes_at_the_next_data(
    proxy: Any, server: Server, upstream: Upstream
) -> None:
    proxy.add_toxic(type="limit_data", stream="upstream", attributes={"bytes": 10})
    near, far = upstream.connect(proxy.listen)
    passes(near, far, b"12345")
    changed = server.call("PATCH", "/proxies/p/toxics/limit_data_upstream", {"attributes": {"bytes": 3}})
    assert changed.json()["attributes"] == {"bytes": 3}
    near.sendall(b"6")
    assert far.recv(1) == b""


@pytest.mark.parametrize("toxicity", [-1, 0, 0.0])
def test_a_toxicity_that_is_raised_has_effect_on_open_connections(
    proxy: Any, server: Server, upstream: Upstream, toxicity: float
) -> None:
    near, far = upstream.connect(proxy.listen)
    proxy.add_toxic(type="timeout", stream="upstream", toxicity=toxicity)
    passes(near, far)
    server.call("PATCH", "/proxies/p/toxics/timeout_upstream", {"toxicity": 7})
    silent(near, far)
    server.call("PATCH", "/proxies/p/toxics/timeout_upstream", {"toxicity": toxicity})
    passes(near, far)


@pytest.mark.parametrize("toxicity", [0.0, 1.0])
def test_a_timeout_that_is_removed_closes_every_connection(proxy: Any, upstream: Upstream, toxicity: float) -> None:
    near, far = upstream.connect(proxy.listen)
    proxy.add_toxic(type="timeout", stream="downstream", toxicity=toxicity)
    passes(near, far)
    proxy.destroy_toxic("timeout_downstream")
    assert near.recv(1) == far.recv(1) == b""


@pytest.mark.parametrize("sizes", [(1000, 1000), (64, 64), (1000, 999), (0, 1), (5, -1), (10, 11)])
def test_a_slicer_of_any_size_that_works_passes_every_byte(
    proxy: Any, upstream: Upstream, sizes: tuple[int, int]
) -> None:
    average, variation = sizes
    attributes = {"average_size": average, "size_variation": variation}
    proxy.add_toxic(type="slicer", stream="upstream", attributes=attributes)
    near, far = upstream.connect(proxy.listen)
    passes(near, far, os.urandom(2_000))


def test_toxics_are_gone_from_open_connections_after_a_reset(proxy: Any, server: Server, upstream: Upstream) -> None:
    near, far = upstream.connect(proxy.listen)
    proxy.add_toxic(type="latency", stream="upstream", attributes={"latency": HOUR_MS})
    proxy.add_toxic(type="bandwidth", stream="upstream", attributes={"rate": 0})
    near.sendall(b"held")
    assert server.call("POST", "/reset").status_code == 204
    assert exactly(far, 4) == b"held"
    passes(near, far)
