"""The simulated network: what its faults do, seen from the processes at its ends, in virtual time."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_kcontroller.errors import NotOnThisBackend
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.runtime.ports import ConnectionClosedError, Stream
from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.runtime.scheduler import Scheduler, SimLoop, SimRuntime, StuckError
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.sim.disk import SimDisk
from pytest_kcontroller.sim.link import LEAST_US, MOST_US, Direction, Link
from pytest_kcontroller.sim.network import SimListening, SimNetwork, SimTransport
from pytest_kcontroller.wire.client import RequestClient
from pytest_kcontroller.wire.messages import ApiVersionsRequest
from pytest_kcontroller.wire.server import Service, serve

SERVER = Address("server", 9092)
LONG_US = 1_000_000
Serve = Callable[[Stream], Awaitable[None]]


class World:
    """A client and a server process, and what both saw: (time, who, what)."""

    def __init__(self, seed: int = 1) -> None:
        self.scheduler = Scheduler()
        self.network = SimNetwork(self.scheduler, NamedRng(seed))
        self.seen: list[tuple[int, str, str]] = []
        self.transports: dict[str, SimTransport] = {}
        self.client, self.server = self.process("client"), self.process("server")

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        self.scheduler.close()

    def process(self, name: str) -> SimLoop:
        loop = self.scheduler.process(name)
        self.transports[name] = self.network.transport(loop)
        return loop

    @property
    def link(self) -> Link:
        return self.network.link("client", "server")

    @property
    def now_us(self) -> int:
        return self.scheduler.now_us

    def see(self, who: str, what: object) -> None:
        self.seen.append((self.now_us, who, what.decode() if isinstance(what, bytes) else str(what)))

    def what(self, who: str) -> list[str]:
        return [what for _, by, what in self.seen if by == who]

    def do(self, coroutine: Coroutine[Any, Any, Any], within: SimLoop | None = None) -> Any:
        """Runs it in the client, to its end."""
        return self.scheduler.run_until_complete((within or self.client).create_task(coroutine))

    def start(self, coroutine: Coroutine[Any, Any, Any], within: SimLoop | None = None) -> asyncio.Task[Any]:
        return (within or self.client).create_task(coroutine)

    def pass_us(self, duration_us: int = LONG_US) -> None:
        self.scheduler.run(until_us=self.now_us + duration_us)

    def listen(self, serve_one: Serve | None = None, address: Address = SERVER, name: str = "server") -> Address:
        """The process `name` listens; without `serve_one` it sees every byte and says it back."""
        listening = self.transports[name].listen(address, serve_one or self.echo)
        return self.do(listening, self.scheduler.processes[name]).address  # type: ignore[no-any-return]

    async def echo(self, stream: Stream) -> None:
        try:
            while True:
                byte = await stream.read_exactly(1)
                self.see("server", byte)
                stream.write(byte)
        except ConnectionClosedError:
            self.see("server", "end")

    async def hear(self, stream: Stream) -> None:
        """What the client reads until the end."""
        try:
            while True:
                self.see("client", await stream.read_exactly(1))
        except ConnectionClosedError as ended:
            self.see("client", f"end: {ended}")

    def connect(self) -> Stream:
        """The client's connection with a task that hears it."""
        stream: Stream = self.do(self.transports["client"].connect(SERVER))
        self.start(self.hear(stream))
        return stream


def heard(world: World, since_us: int, who: str = "client") -> list[int]:
    return [at_us - since_us for at_us, by, _ in world.seen if by == who]


# --- delays -----------------------------------------------------------------------------------------------------------


def test_bytes_are_late_by_a_drawn_delay() -> None:
    delays: list[int] = []
    with World() as world:
        world.listen()
        stream = world.connect()
        for _ in range(200):
            stream.write(b"x")
            said_us = world.now_us
            world.pass_us(10_000)
            delays.append(heard(world, said_us, "server")[-1])
    assert LEAST_US <= min(delays) < 75
    assert 475 < max(delays) <= MOST_US
    assert len(set(delays)) > 100


def test_a_slow_link_is_as_slow_as_asked_for_in_each_direction() -> None:
    with World() as world:
        world.listen()
        world.link.slow(3000, 3000, "upstream")
        world.link.slow(7, 7, "downstream")
        stream = world.connect()
        assert world.now_us == 3007, "a connection is there after one round trip"
        stream.write(b"x")
        world.pass_us()
        assert world.seen == [(6007, "server", "x"), (6014, "client", "x")]
        with pytest.raises(ValueError, match="cannot be"):
            world.link.slow(2, 1)


def test_what_was_said_first_arrives_first_although_the_link_became_faster() -> None:
    with World() as world:
        world.listen()
        stream = world.connect()
        world.link.slow(9000, 9000)
        stream.write(b"a")
        world.link.slow(0, 0)
        began_us = world.now_us
        stream.write(b"b")
        world.pass_us()
        assert world.what("client") == ["a", "b"]
        assert heard(world, began_us, "server") == [9000, 9000]


def test_each_direction_of_each_link_has_delays_of_its_own() -> None:
    """Traffic of others does not shift what a link draws."""

    def arrivals(others: bool) -> list[tuple[int, str, str]]:
        with World() as world:
            world.listen()
            if others:
                third = world.process("third")
                for _ in range(5):
                    world.start(world.transports["third"].connect(SERVER), third)
            stream = world.connect()
            for _ in range(20):
                stream.write(b"x")
                world.pass_us(10_000)
            return [(at_us, who, what) for at_us, who, what in world.seen if what == "x"]

    assert arrivals(others=True) == arrivals(others=False)


# --- cut --------------------------------------------------------------------------------------------------------------


def test_a_link_cut_in_one_direction_passes_the_other_and_heals_without_loss() -> None:
    with World() as world:
        world.listen()
        stream = world.connect()
        world.link.cut("downstream")
        stream.write(b"a")
        stream.write(b"b")
        world.pass_us()
        assert (world.what("server"), world.what("client")) == (["a", "b"], [])
        world.link.cut("upstream")
        stream.write(b"c")
        world.pass_us()
        assert (world.what("server"), world.what("client")) == (["a", "b"], [])
        world.link.heal()
        healed_us = world.now_us
        world.pass_us()
        assert (world.what("server"), world.what("client")) == (["a", "b", "c"], ["a", "b", "c"])
        assert min(heard(world, healed_us)) >= -LONG_US + LEAST_US


def test_a_cut_stops_what_is_on_its_way_and_healing_delays_it_anew() -> None:
    with World() as world:
        world.listen()
        stream = world.connect()
        world.link.slow(1000, 1000)
        stream.write(b"a")
        world.pass_us(500)
        world.link.cut()
        world.pass_us()
        assert world.seen == []
        world.link.heal()
        healed_us = world.now_us
        world.pass_us()
        ((at_us, who, what), _) = world.seen
        assert (who, what) == ("server", "a")
        assert LEAST_US <= at_us - healed_us <= MOST_US


def test_a_cut_that_is_healed_before_the_arrival_changes_nothing() -> None:
    with World() as world:
        world.listen()
        stream = world.connect()
        world.link.slow(1000, 1000)
        said_us = world.now_us
        stream.write(b"a")
        world.link.cut()
        world.pass_us(999)
        world.link.heal()
        world.pass_us()
        assert heard(world, said_us, "server") == [1000]


def test_connecting_over_a_cut_link_waits_until_it_heals() -> None:
    with World() as world:
        world.listen()
        for direction in ("upstream", "downstream"):
            world.link.cut(direction)
            connecting = world.start(world.transports["client"].connect(SERVER))
            world.pass_us()
            assert not connecting.done()
            world.link.heal()
            world.pass_us()
            assert connecting.done()
            connecting.result().close()


def test_a_cut_link_leaves_other_links_alone() -> None:
    with World() as world:
        third = world.process("third")
        world.listen()
        world.link.cut()
        stream = world.do(world.transports["third"].connect(SERVER), third)
        stream.write(b"x")
        world.pass_us()
        assert world.what("server") == ["x"]


# --- hold and release -------------------------------------------------------------------------------------------------


def test_held_writes_are_released_one_by_one_in_their_order() -> None:
    with World() as world:
        world.listen()
        first, second = world.connect(), world.connect()
        first.write(b"0")
        world.link.hold("upstream")
        for stream, byte in ((first, b"a"), (second, b"b"), (first, b"c"), (second, b"d")):
            stream.write(byte)
        world.pass_us()
        assert world.what("server") == ["0"], "what was on its way arrives"
        assert world.link.upstream.holding == 4
        for count, there in ((1, "0a"), (2, "0abc")):
            assert world.link.release(count, "upstream") == count
            world.pass_us()
            assert sorted(world.what("server")) == sorted(there)
        first.write(b"e")
        world.pass_us()
        assert len(world.what("server")) == 4, "still held"
        assert world.link.release() == 2
        first.write(b"f")
        world.pass_us()
        assert sorted(world.what("server")) == list("0abcdef")
        assert [what for what in world.what("server") if what in "0acef"] == list("0acef")
        assert world.link.release(5) == 0


def test_what_was_held_in_a_connection_that_broke_is_lost() -> None:
    with World() as world:
        world.listen()
        stream = world.connect()
        world.link.hold()
        stream.write(b"a")
        world.link.disable()
        world.link.heal()
        world.pass_us()
        assert world.what("server") == ["end"]


# --- reset, disable ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["upstream", "downstream", "both"])
def test_a_reset_strikes_when_something_is_said_in_its_direction(direction: Direction) -> None:
    with World() as world:
        world.listen()
        stream = world.connect()
        world.link.reset(direction)
        world.pass_us()
        assert world.seen == [], "an idle connection stays"
        stream.write(b"a")
        world.pass_us()
        assert world.what("server") == (["a", "end"] if direction == "downstream" else ["end"])
        assert world.what("client") == ["end: connection with server:9092 ended: connection reset"]
        world.link.heal()
        world.connect().write(b"b")
        world.pass_us()
        assert world.what("client")[1:] == ["b"]


def test_disabling_breaks_at_once_and_refuses_until_enabled() -> None:
    with World() as world:
        world.listen()
        stream = world.connect()
        stream.write(b"a")
        world.link.disable()
        broken_us = world.now_us
        world.pass_us()
        assert [(at_us - broken_us, what.partition(":")[0]) for at_us, _, what in world.seen] == [(0, "end")] * 2
        with pytest.raises(ConnectionClosedError, match="no connection to server:9092: connection refused"):
            world.do(world.transports["client"].connect(SERVER))
        world.link.enable()
        world.connect().write(b"b")
        world.pass_us()
        assert world.what("client")[-1] == "b"


def test_disabling_fails_who_is_connecting() -> None:
    with World() as world:
        world.listen()
        world.link.cut()
        connecting = world.start(world.transports["client"].connect(SERVER))
        world.pass_us()
        world.link.disable()
        world.pass_us(1)
        with pytest.raises(ConnectionClosedError, match="the network broke it"):
            connecting.result()


def test_a_connection_that_broke_before_it_reached_its_target_is_never_accepted() -> None:
    with World() as world:
        world.listen()
        world.link.hold()
        connecting = world.start(world.transports["client"].connect(SERVER))
        world.pass_us(1)
        world.link.disable()
        world.link.heal()
        world.pass_us()
        assert isinstance(connecting.exception(), ConnectionClosedError)
        assert world.transports["server"].streams == {}


def test_healing_takes_every_fault_of_every_link_back() -> None:
    with World() as world:
        world.process("third")
        world.listen()
        links = [world.link, world.network.link("third", "server")]
        for link in links:
            link.cut()
            link.hold()
            link.reset()
            link.slow(LONG_US, LONG_US)
            link.disable()
        for link in links:
            link.heal()
        assert world.network.links == tuple(links)
        began_us = world.now_us
        world.connect().write(b"x")
        world.pass_us()
        assert world.what("client") == ["x"]
        assert max(heard(world, began_us)) <= 4 * MOST_US


# --- processes that end or stop ---------------------------------------------------------------------------------------


def test_a_kill_ends_the_streams_of_its_peers_after_what_it_had_said() -> None:
    async def say_and_stay(stream: Stream) -> None:
        stream.write(b"ab")
        try:
            await stream.read_exactly(1)
        finally:
            world.see("server", "finally")

    with World() as world:
        world.listen(say_and_stay)
        stream = world.do(world.transports["client"].connect(SERVER))
        world.start(world.hear(stream))
        world.pass_us()
        stream.write(b"x")
        world.scheduler.kill(world.server)
        killed_us = world.now_us
        world.pass_us()
        assert world.what("server") == [], "killed before the byte came: no code of it ran"
        assert [what for _, _, what in world.seen] == [
            "a",
            "b",
            "end: connection with server:9092 ended: the other end closed it",
        ]
        assert LEAST_US <= heard(world, killed_us)[-1] <= MOST_US
        stream.write(b"y")  # does nothing
        with pytest.raises(ConnectionClosedError):
            world.do(stream.drain())
        with pytest.raises(ConnectionClosedError, match="refused"):
            world.do(world.transports["client"].connect(SERVER))
        world.process("server")
        assert world.listen() == SERVER, "the port is free again"
        world.connect().write(b"z")
        world.pass_us()
        assert world.what("server") == ["z"]


def test_the_end_of_a_killed_process_does_not_pass_a_cut() -> None:
    with World() as world:
        world.listen()
        world.connect()
        world.link.cut("downstream")
        world.scheduler.kill(world.server)
        world.pass_us()
        assert world.what("client") == []
        world.link.heal()
        world.pass_us()
        assert len(world.what("client")) == 1


def test_a_kill_of_the_client_is_seen_by_the_server_also_while_it_connects() -> None:
    with World() as world:
        world.listen()
        world.connect()
        world.start(world.transports["client"].connect(SERVER))
        world.pass_us(1)
        world.scheduler.kill(world.client)
        world.pass_us()
        assert world.what("server") == ["end", "end"]


def test_a_paused_process_is_connected_to_and_gets_its_bytes_when_it_resumes() -> None:
    with World() as world:
        world.listen()
        world.scheduler.pause(world.server)
        stream = world.connect()
        stream.write(b"a")
        stream.write(b"b")
        world.pass_us()
        assert world.seen == []
        world.scheduler.resume(world.server)
        resumed_us = world.now_us
        world.pass_us()
        assert world.what("server") == ["a", "b"]
        assert heard(world, resumed_us, "server") == [0, 0], "they were there already"
        assert world.what("client") == ["a", "b"]


def test_a_paused_process_learns_of_an_end_when_it_resumes() -> None:
    with World() as world:
        world.listen()
        world.connect()
        world.scheduler.pause(world.client)
        world.scheduler.kill(world.server)
        world.pass_us()
        assert world.what("client") == []
        world.scheduler.resume(world.client)
        world.pass_us(0)
        assert len(world.what("client")) == 1


# --- listening, closing -----------------------------------------------------------------------------------------------


def test_nobody_listens() -> None:
    with World() as world:
        began_us = world.now_us
        with pytest.raises(ConnectionClosedError, match="no connection to nowhere:1: connection refused"):
            world.do(world.transports["client"].connect(Address("nowhere", 1)))
        assert 2 * LEAST_US <= world.now_us - began_us <= 2 * MOST_US


def test_a_port_is_taken_once_and_port_0_gives_a_free_one() -> None:
    with World() as world:
        world.process("third")
        world.listen()
        with pytest.raises(OSError) as taken:
            world.listen(name="third")
        assert taken.value.strerror == "Address already in use"
        free = [world.listen(address=Address("server", 0)).port for _ in range(3)]
        assert len(set(free)) == 3
        assert 0 not in free
        assert world.listen(address=Address("elsewhere", SERVER.port), name="third").host == "elsewhere"


def test_closing_a_listening_ends_what_it_accepted() -> None:
    with World() as world:
        listening = world.do(world.transports["server"].listen(SERVER, world.echo), world.server)
        world.connect()
        world.do(listening.close(), world.server)
        world.do(listening.close(), world.server)
        world.pass_us()
        assert (len(world.what("client")), world.what("server")) == (1, ["end"])
        with pytest.raises(ConnectionClosedError):
            world.connect()
        world.listen()
        world.connect()


def test_what_was_written_before_closing_arrives_and_both_ends_are_closed() -> None:
    with World() as world:
        world.listen()
        stream = world.connect()
        stream.write(b"a")
        stream.close()
        stream.close()
        stream.write(b"b")
        world.pass_us()
        assert world.what("server") == ["a", "end"]
        assert world.what("client") == ["end: connection with server:9092 ended: it was closed here"]
        assert world.transports["client"].streams == world.transports["server"].streams == {}
        assert world.link.open == {}


def test_nothing_is_read_from_a_stream_after_closing_it() -> None:
    with World() as world:
        world.listen()
        stream = world.do(world.transports["client"].connect(SERVER))
        stream.write(b"ab")
        world.pass_us()
        assert world.do(stream.read_exactly(1)) == b"a"
        stream.close()
        with pytest.raises(ConnectionClosedError, match="it was closed here"):
            world.do(stream.read_exactly(1))


def test_a_fault_of_the_network_itself_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def accept(listening: SimListening, stream: Stream) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(SimListening, "accept", accept)
    with World() as world:
        world.listen()
        with pytest.raises(ZeroDivisionError):
            world.connect()


def test_a_stream_is_closed_when_its_serving_ends() -> None:
    async def greet(stream: Stream) -> None:
        stream.write(b"hello")

    with World() as world:
        world.listen(greet)
        world.connect()
        world.pass_us()
        assert "".join(world.what("client")[:-1]) == "hello"
        assert world.what("client")[-1].startswith("end")


def test_a_serving_that_fails_is_told_to_its_process() -> None:
    async def fail(stream: Stream) -> None:
        raise ZeroDivisionError

    told: list[dict[str, Any]] = []
    with World() as world:
        world.server.set_exception_handler(lambda _, context: told.append(context))
        world.listen(fail)
        world.connect()
        world.pass_us()
        assert [(type(context["exception"]), context["message"]) for context in told] == [
            (ZeroDivisionError, "serving client failed")
        ]
        assert world.what("client")[0].startswith("end")


def test_reading_more_than_there_is_waits_and_can_be_given_up() -> None:
    async def read(stream: Stream) -> object:
        try:
            async with within(0.5):
                await stream.read_exactly(3)
        except TimeoutError:
            return world.now_us, await stream.read_exactly(2)
        return "was not given up"

    with World() as world:
        world.listen()
        stream = world.do(world.transports["client"].connect(SERVER))
        stream.write(b"ab")
        began_us = world.now_us
        assert world.do(read(stream)) == (began_us + 500_000, b"ab")
        world.start(stream.read_exactly(1))
        world.pass_us(1)
        with pytest.raises(RuntimeError, match="two tasks"):
            world.do(stream.read_exactly(1))


def test_giving_up_connecting_closes_the_connection() -> None:
    with World() as world:
        world.listen()
        connecting = world.start(world.transports["client"].connect(SERVER))
        world.pass_us(1)
        connecting.cancel()
        world.pass_us()
        assert connecting.cancelled()
        assert world.what("server") == ["end"]


def test_who_waits_for_bytes_is_told_with_the_peer() -> None:
    with World() as world:
        world.listen()
        world.connect()
        with pytest.raises(StuckError) as stuck:
            world.scheduler.run()
        client, server = stuck.value.waiting
        assert client.startswith("client, task ")
        assert client.endswith(", for server:9092")
        assert server.endswith(", for client")


# --- requests as moments ----------------------------------------------------------------------------------------------


def test_each_request_is_told_before_it_leaves() -> None:
    told: list[tuple[str, int, int]] = []
    with World() as world:
        world.network.on_send = lambda link, number: told.append((str(link), number, world.now_us))
        world.listen()
        for byte in (b"a", b"b"):
            stream = world.connect()
            stream.write(byte)
            world.pass_us()
        assert [(link, number) for link, number, _ in told] == [("client -> server", 1), ("client -> server", 2)]
        assert [at_us for _, _, at_us in told] < [at_us for at_us, who, _ in world.seen if who == "server"]


@pytest.mark.parametrize("what,arrived", [("kill", ["a", "end"]), ("hold", ["a"]), ("disable", ["a", "end"])])
def test_a_request_can_be_the_moment_of_a_fault(what: str, arrived: list[str]) -> None:
    def strike(link: Link, number: int) -> None:
        if number == 2:
            {"kill": lambda: world.scheduler.kill(world.client), "hold": link.hold, "disable": link.disable}[what]()

    with World() as world:
        world.network.on_send = strike
        world.listen()
        stream = world.connect()
        stream.write(b"a")
        world.pass_us()
        world.client.call_soon(stream.write, b"b")
        world.client.call_soon(stream.write, b"c")
        world.pass_us()
        assert world.what("server") == arrived
        if what == "hold":
            world.link.heal()
            world.pass_us()
            assert world.what("server") == ["a", "b", "c"]


# --- order ------------------------------------------------------------------------------------------------------------


def reconnecting(seed: int) -> str:
    """A client that says `a`, gives the connection up, and says `b` in a new one."""

    async def impatient() -> None:
        for byte in (b"a", b"b"):
            stream = await world.transports["client"].connect(SERVER)
            stream.write(byte)
            if byte == b"a":
                stream.close()

    with World(seed) as world:
        world.listen()
        world.do(impatient())
        world.pass_us()
        return "".join(what for what in world.what("server") if what != "end")


def test_a_reconnection_can_overtake_what_the_old_connection_said() -> None:
    orders = [reconnecting(seed) for seed in range(60)]
    assert set(orders) == {"ab", "ba"}


Step = tuple[str, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["write", "write", "write", "cut", "hold", "release", "heal", "slow", "pass", "pause", "resume"]
        ),
        st.integers(0, 3),
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(STEPS, st.integers(0, 1000))
def test_whatever_happens_to_a_link_nothing_is_lost_or_reordered(steps: list[Step], seed: int) -> None:
    """Two connections; every fault but the breaking ones; in the end all bytes have come in their order."""
    got: dict[int, bytes] = {0: b"", 1: b""}

    async def collect(stream: Stream) -> None:
        which = (await stream.read_exactly(1))[0]
        while True:
            got[which] += await stream.read_exactly(1)

    said = {0: b"", 1: b""}
    with World(seed) as world:
        world.listen(collect)
        streams = [world.connect(), world.connect()]
        for which, stream in enumerate(streams):
            stream.write(bytes([which]))
        for number, (step, choice) in enumerate(steps):
            which = choice % 2
            if step == "write":
                streams[which].write(bytes([number]))
                said[which] += bytes([number])
            elif step == "release":
                world.link.release(choice or None)
            elif step == "slow":
                world.link.slow(choice * 300, choice * 900)
            elif step == "pass":
                world.pass_us(choice * 400)
            elif step in ("pause", "resume"):
                getattr(world.scheduler, step)(world.server)
            else:
                getattr(world.link, step)()
            assert all(said[which].startswith(got[which]) for which in said)
        world.scheduler.resume(world.server)
        world.link.heal()
        world.pass_us()
        assert got == said


# --- with the rest ----------------------------------------------------------------------------------------------------


def test_kafkas_requests_pass_over_it() -> None:
    async def serve_one(stream: Stream) -> None:
        await serve(stream, Service(handlers={}))

    with World() as world:
        world.listen(serve_one)
        client = RequestClient(world.transports["client"], SERVER)
        answer = world.do(client.request(ApiVersionsRequest(client_software_name="t", client_software_version="1")))
        assert [entry.api_key for entry in answer.api_keys] == [18]
        world.link.cut("downstream")
        began_us = world.now_us
        with pytest.raises(ConnectionClosedError, match="did not answer"):
            world.do(client.request(ApiVersionsRequest(), timeout_us=250_000))
        assert world.now_us - began_us == 250_000


def test_a_runtime_has_what_it_was_given_and_says_what_it_has_not() -> None:
    with World() as world:
        transport, disk = world.transports["client"], SimDisk(NamedRng(1), "client")
        runtime = SimRuntime(world.client, 1, [], transport=transport, disk=disk)
        assert runtime.transport is transport
        assert runtime.disk is disk
        with pytest.raises(NotOnThisBackend, match="no ZooKeeper"):
            _ = runtime.zookeeper
        bare = SimRuntime(world.client, 1, [])
        with pytest.raises(NotOnThisBackend, match="no network"):
            _ = bare.transport
        with pytest.raises(NotOnThisBackend, match="no disk"):
            _ = bare.disk


# --- determinism ------------------------------------------------------------------------------------------------------


def busy_history(seed: int) -> str:
    """Five processes that all talk with all; links fail, one process is killed and made again, another is paused."""
    names = [f"node-{number}" for number in range(5)]
    addresses = {name: Address(name, 9092) for name in names}

    async def talk(name: str, other: str, rounds: int) -> None:
        for number in range(rounds):
            try:
                async with within(0.05):
                    stream = await world.transports[name].connect(addresses[other])
                    for part in range(3):
                        stream.write(b"%d" % part)
                        world.see(f"{name}<{other}", await stream.read_exactly(1))
            except (ConnectionClosedError, TimeoutError) as failed:
                world.see(name, f"{number} {failed!r}")
                await asyncio.sleep(0.01)
            else:
                stream.close()

    def begin(name: str) -> None:
        world.process(name)
        world.listen(address=addresses[name], name=name)
        for other in names:
            world.start(talk(name, other, 20), world.scheduler.processes[name])

    with World(seed) as world:
        for name in names:
            begin(name)
        world.pass_us(5_000)
        world.network.link("node-0", "node-1").cut("downstream")
        world.network.link("node-1", "node-2").hold()
        world.network.link("node-2", "node-3").reset("upstream")
        world.scheduler.pause(world.scheduler.processes["node-4"])
        world.pass_us(5_000)
        world.scheduler.kill(world.scheduler.processes["node-3"])
        world.pass_us(100_000)
        begin("node-3")
        for link in world.network.links:
            link.heal()
        world.scheduler.resume(world.scheduler.processes["node-4"])
        world.pass_us()
        return json.dumps(world.seen)


def test_a_seed_is_a_history_and_another_seed_another_one() -> None:
    histories = [busy_history(seed) for seed in (1, 1, 2)]
    assert len(json.loads(histories[0])) > 2000
    assert histories[0] == histories[1]
    assert histories[0] != histories[2]


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_the_history_is_the_same_in_other_processes(hash_seed: str) -> None:
    program = f"""
import hashlib, runpy
print(hashlib.sha256(runpy.run_path({str(Path(__file__))!r})["busy_history"](7).encode()).hexdigest())
"""
    surroundings = {**os.environ, "PYTHONHASHSEED": hash_seed}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=surroundings)
    assert ran.stdout.strip() == hashlib.sha256(busy_history(7).encode()).hexdigest()
