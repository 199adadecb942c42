"""The proxies between the nodes of a cluster and to ZooKeeper."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial, wraps
from pathlib import Path
from typing import Any

import pytest

from pytest_kcontroller.cluster.process.connections import established
from pytest_kcontroller.cluster.process.links import ZOOKEEPER, Links
from pytest_kcontroller.cluster.process.proxy_server import start_server
from pytest_kcontroller.cluster.process.toxiproxy_client import ToxiproxyClient
from pytest_kcontroller.cluster.proxied.proxies import Proxies
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure, StartError
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.model.toxics import RESET_PEER, STREAMS, Toxic, slow_toxics
from pytest_kcontroller.runtime.timeouts import within

LIMIT_S = 10
UPSTREAM = Address("127.0.0.1", 1)
QUIET_S = 0.3
"""So long nothing may arrive over a link that is cut."""


def asyncio_run(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def run(**arguments: Any) -> None:
        asyncio.run(test(**arguments))

    return run


class Peer:
    """A server that keeps what it got, and its connections, so that a test can speak from both ends."""

    def __init__(self) -> None:
        self.accepted: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
        self._server: asyncio.Server | None = None

    async def listen(self, address: str) -> Address:
        host, _, port = address.rpartition(":")

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.accepted.put_nowait((reader, writer))

        self._server = await asyncio.start_server(accept, host, int(port), reuse_address=True)
        return Address(*self._server.sockets[0].getsockname()[:2])

    def close(self) -> None:
        if self._server is not None:
            self._server.close()


class Pair:
    """A connection through a link: the client's end and the server's."""

    def __init__(self, client: Any, server: Any) -> None:
        self.client_reader, self.client_writer = client
        self.server_reader, self.server_writer = server

    async def passes(self) -> None:
        async with within(scaled(LIMIT_S)):
            self.client_writer.write(b"ask")
            assert await self.server_reader.readexactly(3) == b"ask"
            self.server_writer.write(b"answer")
            assert await self.client_reader.readexactly(6) == b"answer"

    async def silent(self, writer: asyncio.StreamWriter, reader: asyncio.StreamReader) -> None:
        writer.write(b"lost")
        with pytest.raises(TimeoutError):
            async with within(QUIET_S):
                await reader.read(1)

    def close(self) -> None:
        self.client_writer.close()
        self.server_writer.close()


async def connected(address: str, peer: Peer) -> Pair:
    async with within(scaled(LIMIT_S)):
        host, _, port = address.rpartition(":")
        client = await asyncio.open_connection(host, int(port))
        return Pair(client, await peer.accepted.get())


@asynccontextmanager
async def cluster(tmp_path: Path) -> AsyncIterator[tuple[Links, Peer, Peer]]:
    """Links of the nodes 0, 1 and 2; a peer in the place of ZooKeeper and one in that of node 1."""
    zookeeper, node = Peer(), Peer()
    address = await zookeeper.listen("127.0.0.1:0")
    links = await Links.start(dict.fromkeys((0, 1, 2), (address,)), log=tmp_path / "toxiproxy.log", seed=0)
    try:
        await node.listen(links.listen(1))
        yield links, zookeeper, node
    finally:
        await links.stop()
        zookeeper.close()
        node.close()


@asyncio_run
async def test_each_node_has_a_link_to_zookeeper_and_to_each_node(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (links, _, _):
        seen = []
        for node in range(3):
            ends = links.map_for(node)
            hosts = {name: Address.parse(text).host for name, text in ends.items()}
            of_clients = {name: hosts.pop(name) for name in list(hosts) if name.endswith("/client")}
            assert of_clients == {f"{target}/client": f"127.4.251.{target + 1}" for target in range(3)}
            assert hosts.pop("zookeeper/zk") == f"127.1.{node + 1}.250"
            assert hosts == {f"{target}/control": f"127.2.{node + 1}.{target + 1}" for target in range(3)}
            seen += [Address.parse(text) for text in ends.values()]
        assert tuple(sorted(set(seen))) == links.addresses
        assert len({links.listen(node) for node in range(3)}) == 3


@asyncio_run
async def test_a_cut_link_is_a_black_hole_both_ways_and_heals(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (links, zookeeper, node):
        cut, same_target, to_zookeeper = (
            await connected(links.map_for(0)["1/control"], node),
            await connected(links.map_for(2)["1/control"], node),
            await connected(links.map_for(0)["zookeeper/zk"], zookeeper),
        )
        pairs = [cut, same_target, to_zookeeper]
        for pair in pairs:
            await pair.passes()
        assert await links.toxics("0", "1", "control") == []
        await links.cut("0", "1", "control")
        assert [(toxic["type"], toxic["stream"]) for toxic in await links.toxics("0", "1", "control")] == [
            ("timeout", "upstream"),
            ("timeout", "downstream"),
        ]
        await cut.silent(cut.client_writer, cut.server_reader)
        await cut.silent(cut.server_writer, cut.client_reader)
        late = await connected(links.map_for(0)["1/control"], node)  # a new connection is a black hole too
        await late.silent(late.client_writer, late.server_reader)
        for pair in (same_target, to_zookeeper):
            await pair.passes()
        await links.heal("0", "1", "control")
        assert await links.toxics("0", "1", "control") == []
        async with within(scaled(LIMIT_S)):  # what was cut is closed, and nothing of it comes late
            assert await cut.client_reader.read() == b""
            assert await cut.server_reader.read() == b""
        healed = await connected(links.map_for(0)["1/control"], node)
        await healed.passes()
        for pair in [*pairs, late, healed]:
            pair.close()


@asyncio_run
async def test_a_link_to_zookeeper_is_cut_for_one_node_only(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (links, zookeeper, _):
        cut = await connected(links.map_for(1)["zookeeper/zk"], zookeeper)
        kept = await connected(links.map_for(2)["zookeeper/zk"], zookeeper)
        await links.cut("1", ZOOKEEPER, "zk")
        await cut.silent(cut.client_writer, cut.server_reader)
        await kept.passes()
        cut.close()
        kept.close()


@pytest.mark.parametrize("enabled", [False, True])
@asyncio_run
async def test_a_reset_that_is_cancelled_leaves_no_link_refused(
    enabled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by the end of a fault's duration, while the server has been told the first of it and has not answered."""
    async with cluster(tmp_path) as (links, _, _):
        servers = Peer(), Peer()
        await links.add(3, [await server.listen("127.0.0.1:0") for server in servers])
        client, loop = links._on._client, asyncio.get_running_loop()
        call, asked, go_on = client.call, asyncio.Event(), threading.Event()

        def slow(method: str, path: str, body: object | None = None) -> object:
            if body == {"enabled": enabled}:
                loop.call_soon_threadsafe(asked.set)
                assert go_on.wait(scaled(LIMIT_S))
            return call(method, path, body)

        monkeypatch.setattr(client, "call", slow)
        reset = asyncio.ensure_future(links.reset("3", ZOOKEEPER, "zk"))
        async with within(scaled(LIMIT_S)):
            await asked.wait()
            reset.cancel()
            loop.call_later(QUIET_S, go_on.set)
            with pytest.raises(asyncio.CancelledError):
                await reset
        for address, server in zip(links.to_zookeeper(3), servers, strict=True):
            pair = await connected(str(address), server)
            await pair.passes()
            pair.close()
            server.close()


@asyncio_run
async def test_a_cut_of_one_direction_twice_then_of_both(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (links, _, node):
        pair = await connected(links.map_for(0)["1/control"], node)
        await links.cut("0", "1", "control", direction="upstream")
        await links.cut("0", "1", "control", direction="upstream")
        await pair.silent(pair.client_writer, pair.server_reader)
        pair.server_writer.write(b"back")
        async with within(scaled(LIMIT_S)):
            assert await pair.client_reader.readexactly(4) == b"back"
        await links.cut("0", "1", "control")
        await pair.silent(pair.server_writer, pair.client_reader)
        pair.close()


@asyncio_run
async def test_slow_reset_and_disable_are_what_they_say_and_heal_ends_them(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (links, zookeeper, node):
        loop = asyncio.get_running_loop()
        slow = await connected(links.map_for(0)["1/control"], node)
        for latency_ms in (10, 150):
            for toxic in slow_toxics(latency_ms):
                await links.impair("0", "1", "control", toxic)
        assert [toxic["attributes"]["latency"] for toxic in await links.toxics("0", "1", "control")] == [150, 150]
        began = loop.time()
        await slow.passes()
        assert loop.time() - began >= 0.29
        for stream in STREAMS:
            await links.impair("2", "1", "control", Toxic(RESET_PEER, stream, {"timeout": 0}))
        new = await connected(links.map_for(2)["1/control"], node)
        new.client_writer.write(b"x")
        with pytest.raises(ConnectionResetError):
            async with within(scaled(LIMIT_S)):
                await new.client_reader.read(1)
        old = await connected(links.map_for(0)["zookeeper/zk"], zookeeper)
        await links.disable("0", ZOOKEEPER, "zk")
        async with within(scaled(LIMIT_S)):
            assert await old.client_reader.read(1) == b""
        with pytest.raises(ConnectionRefusedError):
            await connected(links.map_for(0)["zookeeper/zk"], zookeeper)
        await links.enable("0", ZOOKEEPER, "zk")
        enabled = await connected(links.map_for(0)["zookeeper/zk"], zookeeper)
        await enabled.passes()
        await links.disable("0", ZOOKEEPER, "zk")
        for link in (("0", "1", "control"), ("2", "1", "control"), ("0", ZOOKEEPER, "zk")):
            await links.heal(*link)
            assert await links.toxics(*link) == []
        healed = await connected(links.map_for(2)["1/control"], node)
        await healed.passes()
        again = await connected(links.map_for(0)["zookeeper/zk"], zookeeper)
        await again.passes()
        for pair in (slow, new, old, enabled, healed, again):
            pair.close()


@asyncio_run
async def test_clusters_share_a_server_that_is_named_and_leave_it_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, url = await start_server(tmp_path / "server.log", 0)
    monkeypatch.setenv("KCONTROLLER_TOXIPROXY_URL", url)
    try:
        async with cluster(tmp_path) as (links, zookeeper, _), cluster(tmp_path) as (others, their_zookeeper, _):
            await links.cut("0", ZOOKEEPER, "zk")
            await others.heal("0", ZOOKEEPER, "zk")
            cut = await connected(links.map_for(0)["zookeeper/zk"], zookeeper)
            await cut.silent(cut.client_writer, cut.server_reader)
            kept = await connected(others.map_for(0)["zookeeper/zk"], their_zookeeper)
            await kept.passes()
            cut.close()
            kept.close()
        assert await links._on.call("GET", "/proxies") == {}
        assert server.returncode is None
        async with cluster(tmp_path) as (links, _, _):
            await server.stop(0)
    finally:
        await server.stop(0)


@asyncio_run
async def test_nothing_of_ours_stays_on_a_server_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server, url = await start_server(tmp_path / "server.log", 0)
    monkeypatch.setenv("KCONTROLLER_TOXIPROXY_URL", url)
    client = ToxiproxyClient(url)
    there = partial(client.call, "GET", "/proxies")
    try:
        async with cluster(tmp_path):
            client.call("DELETE", f"/proxies/{next(iter(there()))}")
        assert there() == {}, "although somebody has deleted one of them"

        proxies = Proxies(client)
        starts: list[Callable[[], Awaitable[object]]] = [
            lambda: Links.start({0: (UPSTREAM,)}, log=tmp_path / "log", seed=0),
            lambda: proxies.add(UPSTREAM),
        ]
        for start in starts:
            starting = asyncio.ensure_future(start())
            while not there():  # noqa: ASYNC110  # the server tells nobody
                await asyncio.sleep(0)
            starting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await starting
            await proxies.close()
            assert there() == {}, "although its start was cancelled"
    finally:
        client.close()
        await server.stop(0)


@asyncio_run
async def test_established_lists_what_a_process_opened_and_not_what_it_accepted(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (links, _, node):  # this process has both ends
        address = links.map_for(0)["1/control"]
        before = established(os.getpid())
        pair = await connected(address, node)
        here = {Address.parse(address), Address(*pair.server_writer.get_extra_info("sockname")[:2])}
        (opened,) = [one for one in established(os.getpid()) if one not in before and here.intersection(one)]
        assert opened == (Address(*pair.client_writer.get_extra_info("sockname")), Address.parse(address))
        pair.close()
    with pytest.raises(EnvironmentFailure, match="process 999999999 cannot be seen"):
        established(999_999_999)


@asyncio_run
async def test_an_unknown_link_is_an_error_and_stop_is_idempotent(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (links, _, _):
        with pytest.raises(EnvironmentFailure, match="no link from 0 to 7 on the plane control"):
            await links.cut("0", "7", "control")
        await links.stop()
        await links.stop()


@asyncio_run
async def test_a_server_that_ends_at_once_is_a_start_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binary = tmp_path / "bin" / "toxiproxy-server"
    binary.parent.mkdir()
    binary.write_text("#!/bin/sh\necho no luck today\nexit 4\n")
    binary.chmod(0o755)
    monkeypatch.setenv("PATH", str(binary.parent), prepend=":")
    with pytest.raises(StartError, match="ended with status 4") as caught:
        await Links.start({0: (Address("127.0.0.1", 1),)}, log=tmp_path / "log", seed=0)
    assert "no luck today" in str(caught.value)
    assert str(binary) in caught.value.command
