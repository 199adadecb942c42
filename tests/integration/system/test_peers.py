"""Links between the nodes of a user's program: faults hit what they say to each other, and are seen by our own looks."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kcontroller_chaos.catalogue import load_catalogue
from pytest_kcontroller import KSystem, KSystems
from pytest_kcontroller.cluster.capabilities import PEERS
from pytest_kcontroller.cluster.system.peer_relay import NO_LINGER, WORD, PeerRelay
from pytest_kcontroller.cluster.system.peers import LookTransport
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.wire.client import RequestClient
from pytest_kcontroller.wire.messages import ApiVersionsRequest
from tests.tools.nothing_done import seen_where_nothing_is_done

TALK = Path(__file__).parents[2] / "data" / "programs" / "talk.py"
COMMAND = [sys.executable, TALK, "{zk}", "{id}", "{peers}", "{peer:0}"]
STOCK = [one for kind in load_catalogue(installed=False).kinds.values() for one in kind.classes]
ON_LINKS = {one.kind: one for one in reversed(STOCK) if PEERS in one.needs}
"""Of each kind the first mode, which is on all links of the node."""

TOGETHER: Sequence[Sequence[tuple[str, int, Mapping[str, Any]]]] = (
    (
        ("bandwidth", 0, {"peer": 1}),
        ("slicer", 1, {"peer": 2, "direction": "from-node"}),
        ("limit_data", 2, {"peer": 0, "direction": "to-node"}),
    ),
    (
        ("timeout", 0, {"peer": 1, "direction": "from-node"}),
        ("slow_close", 1, {"peer": 2, "direction": "to-node"}),
        ("latency", 2, {"peer": 0, "delay_ms": 800, "jitter_ms": 100}),
    ),
    (
        ("partition", 0, {"peer": 1, "direction": "to-node"}),
        ("flap", 1, {"peer": 2, "direction": "from-node"}),
        ("reset", 2, {"mode": "control", "peer": 0}),
    ),
    (("partition", 0, {"mode": "majority"}),),
    (("partition", 1, {"mode": "all"}),),
)
"""On links of their own: those between two nodes."""


def assert_links_are_hit_and_seen(system: KSystem) -> None:
    """Of three nodes of talk.py: what does nothing is not observed, and each kind of fault on links is."""
    for node in system.nodes:
        for other in {*system.nodes} - {node}:
            system.wait_until_said(node, hears=other)
    assert seen_where_nothing_is_done(system._on.backend, [*ON_LINKS.values()]) == []
    for faults in TOGETHER:
        injected = [system.chaos.inject(kind, target=f"node:{node}", **given) for kind, node, given in faults]
        for fault in injected:
            assert fault.observed(), fault.name
        for fault in injected:
            fault.heal()


@pytest.mark.kcontroller(backends=["process"])
def test_faults_hit_what_nodes_say_to_each_other_and_are_seen(kc_system: KSystems) -> None:
    system = kc_system(COMMAND, nodes=3, ready="port")
    told = system.said(1)[0]
    hosts = [told["peers"][name].rpartition(":")[0] for name in "012"]
    assert hosts == ["127.2.2.1", "127.0.0.1", "127.2.2.3"], "proxies, and where it listens itself"
    assert told["first"] == told["peers"]["0"]
    assert_links_are_hit_and_seen(system)

    joined = system.add_node()
    for other in system.nodes[:-1]:
        system.wait_until_said(joined, hears=other)
    system.net.cut(joined, 0)
    system.wait_until_said(joined, lost=0)
    system.net.heal()
    with pytest.raises(
        EnvironmentFailure, match=rf"node {joined} is connected with node 1 itself, at {told['peers']['1']}, "
    ):
        system.net.cut(joined, 1)
    system.net.heal()
    before = len(system.said(0))
    system.restart(0)
    system.wait_until_said(0, hears=joined, since=before)
    system.check()


# --- the relay by itself


class Told:
    """A server that is not ours: what it was told on each connection, and how that ended."""

    def __init__(self, greeting: bytes = b"") -> None:
        self.connections: asyncio.Queue[tuple[bytes, str]] = asyncio.Queue()
        self._greeting = greeting

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers what was said, in capitals, once there is no more of it."""
        writer.write(self._greeting)
        said, how = b"", "ended"
        try:
            while more := await reader.read(100_000):
                said += more
        except ConnectionResetError:
            how = "broke"
        self.connections.put_nowait((said, how))
        if said == b"break":
            reset_at_close(writer)
        else:
            writer.write(said.upper())
        writer.close()


def reset_at_close(writer: asyncio.StreamWriter) -> None:
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)


@asynccontextmanager
async def relayed(program: Told) -> AsyncIterator[Address]:
    """Where a relay listens that stands before it."""
    listening = await asyncio.start_server(program.serve, "127.0.0.1", 0)
    target = Address(*listening.sockets[0].getsockname()[:2])
    relay = await PeerRelay(Address("127.0.0.1", 0), target).start()
    try:
        yield Address(*relay.sockets[0].getsockname()[:2])
    finally:
        relay.close()
        listening.close()
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})


async def said_to(address: Address, *pieces: bytes) -> bytes:
    """And what comes back until the end."""
    reader, writer = await asyncio.open_connection(address.host, address.port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        writer.write_eof()
        return await reader.read()
    finally:
        writer.close()


def in_time(work: Awaitable[None]) -> None:
    async def limited() -> None:
        async with within(scaled(10)):
            await work

    asyncio.run(limited())


@pytest.mark.parametrize("pieces", [[b"hello"], [WORD[:3], b"hello"], [WORD[:-1] + b"?"], [b"x" * 1_000_000]])
def test_what_is_said_passes_as_it_is(pieces: list[bytes]) -> None:
    async def run() -> None:
        async with relayed(program := Told()) as address:
            assert await said_to(address, *pieces) == b"".join(pieces).upper()
            assert await program.connections.get() == (b"".join(pieces), "ended")

    in_time(run())


def test_a_program_may_speak_first() -> None:
    async def run() -> None:
        async with relayed(Told(b"welcome\n")) as address:
            reader, writer = await asyncio.open_connection(address.host, address.port)
            assert await reader.readline() == b"welcome\n"
            writer.close()

    in_time(run())


def test_a_reset_is_passed_on_to_either_side() -> None:
    async def run() -> None:
        async with relayed(program := Told()) as address:
            with pytest.raises(ConnectionResetError):
                await said_to(address, b"break")
            assert await program.connections.get() == (b"break", "ended")
            _, writer = await asyncio.open_connection(address.host, address.port)
            writer.write(b"half of")
            await writer.drain()
            reset_at_close(writer)
            writer.close()
            assert (await program.connections.get())[1] == "broke"

    in_time(run())


def test_we_are_answered_and_the_program_hears_nothing_of_it() -> None:
    async def run() -> None:
        async with relayed(program := Told()) as address:
            client = RequestClient(LookTransport(), address)
            assert (await client.request(ApiVersionsRequest())).error_code == 0
            client.close()
            assert await said_to(address) == b""
            assert await said_to(address, WORD[:3]) == b"", "what a limit has left of it"
            assert await said_to(address, WORD[:3], WORD[3:] + b"\xff\xff\xff\xff") == b"", "no frame: it is closed"
            assert program.connections.empty()
            assert await said_to(address, b"is anybody there?") == b"IS ANYBODY THERE?"
            assert program.connections.qsize() == 1

    in_time(run())
