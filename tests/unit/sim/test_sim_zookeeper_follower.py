"""A follower that lags has no real server to be compared with: it is held to its rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.runtime.scheduler import Scheduler, SimLoop
from pytest_kcontroller.sim.zookeeper.server import SimZooKeeper
from pytest_kcontroller.sim.zookeeper.session import SimConnector, SimSession
from pytest_kcontroller.zookeeper.session import (
    Create,
    Created,
    Delete,
    Exists,
    GetChildren,
    GetData,
    MultiRead,
    Node,
    NoNodeError,
    Request,
    SessionEvent,
    SetData,
    Stat,
    WatchEvent,
    WatchKind,
)
from tests.tools.zookeeper_programs import Batch, program, run_on

SECOND = 1_000_000
LAG_US = SECOND


class World:
    """`near` talks to the leader, `far` to a follower."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.server = SimZooKeeper(scheduler, NamedRng(1))
        self.loop: SimLoop = scheduler.process("clients")
        self.heard: list[SessionEvent | object] = []
        self.near = self._open("near")
        self.server.link("far").follow(LAG_US)
        self.far = self._open("far")

    def _open(self, link: str) -> SimSession:
        async def work() -> SimSession:
            connector = SimConnector(self.server, self.loop, timeout_ms=30_000, link=link)
            return await connector.open(self.heard.append)

        return self.scheduler.run_until_complete(self.loop.create_task(work()))

    def ask(self, session: SimSession, request: Request) -> object:
        async def work() -> object:
            return await session.submit(request)

        return self.scheduler.run_until_complete(self.loop.create_task(work()))

    def data(self, session: SimSession, path: str) -> bytes:
        node = self.ask(session, GetData(path))
        assert isinstance(node, Node)
        return node.data

    def after(self, seconds: float) -> None:
        self.scheduler.run(self.scheduler.now_us + round(seconds * SECOND))


@pytest.fixture
def world() -> Iterator[World]:
    with Scheduler() as scheduler:
        yield World(scheduler)


def test_a_read_sees_what_was_written_before_the_lag(world: World) -> None:
    seen = []
    for value in (b"1", b"2", b"3", b"4"):
        world.ask(world.near, SetData("/", value))
        world.after(0.4)
        assert world.data(world.near, "/") == value
        seen.append(world.data(world.far, "/"))
    assert seen == [b"", b"", b"1", b"2"]
    world.after(1)
    assert world.data(world.far, "/") == b"4"


def test_every_kind_of_read_is_of_the_past(world: World) -> None:
    world.ask(world.near, Create("/x", b"1"))
    assert world.ask(world.far, Exists("/x")) is None
    with pytest.raises(NoNodeError):
        world.ask(world.far, GetChildren("/x"))
    (answer,) = world.ask(world.far, MultiRead((GetData("/x"),)))  # type: ignore[misc]
    assert isinstance(answer, NoNodeError)


def test_the_answer_to_a_write_comes_when_its_writer_can_read_it(world: World) -> None:
    began_us = world.scheduler.now_us
    write, read = world.far.submit(SetData("/", b"mine")), world.far.submit(GetData("/"))
    world.after(0.9)
    assert world.data(world.near, "/") == b"mine"
    assert not write.done()
    assert not read.done()
    world.after(0.2)
    stat, node = write.result(), read.result()
    assert isinstance(stat, Stat)
    assert isinstance(node, Node)
    assert (node.data, node.stat) == (b"mine", stat)
    assert world.scheduler.now_us - began_us < LAG_US + SECOND // 4


def test_a_write_is_decided_by_the_leader_not_by_what_its_writer_sees(world: World) -> None:
    world.ask(world.near, Create("/x"))
    assert world.ask(world.far, Exists("/x")) is None
    with pytest.raises(Exception, match="NodeExists"):
        world.ask(world.far, Create("/x"))
    assert world.ask(world.far, Exists("/x")) is not None


def test_a_watch_fires_when_the_follower_has_the_write_and_before_it_can_be_read(world: World) -> None:
    assert world.ask(world.far, Exists("/x", watch=True)) is None
    world.ask(world.near, Create("/x"))
    world.after(0.9)
    assert world.heard == []
    world.far.submit(SetData("/", b"")).add_done_callback(lambda future: world.heard.append("written"))
    world.far.submit(Exists("/x")).add_done_callback(lambda future: world.heard.append(future.result() is not None))
    world.after(3)
    assert world.heard == [WatchEvent(WatchKind.CREATED, "/x"), "written", True]


def test_another_lag_keeps_the_order(world: World) -> None:
    world.ask(world.near, SetData("/", b"1"))
    world.server.link("far").follow(5 * LAG_US)
    world.after(2)
    assert world.data(world.far, "/") == b""
    world.ask(world.near, SetData("/", b"2"))
    world.server.link("far").follow(0)
    world.after(0)
    assert world.data(world.far, "/") == b"2"


def test_a_follower_that_begins_late_has_all_that_was_before(world: World) -> None:
    world.ask(world.near, Create("/x", b"old", ephemeral=True))
    world.ask(world.near, Create("/y"))
    world.ask(world.near, Delete("/y"))
    world.server.link("near").follow(LAG_US)
    world.after(1)
    assert world.data(world.near, "/x") == b"old"
    assert world.ask(world.near, Exists("/y")) is None


def test_a_restart_of_the_server_does_not_stop_the_follower(world: World) -> None:
    assert isinstance(world.ask(world.near, Create("/x")), Created)
    world.server.stop()
    world.server.start()
    world.after(3)
    assert world.ask(world.far, Exists("/x")) is not None


@pytest.mark.parametrize("seed", range(1, 6))
def test_what_a_session_sees_never_goes_back_and_ends_at_the_leaders_state(seed: int) -> None:
    with Scheduler() as scheduler:
        server = SimZooKeeper(scheduler, NamedRng(seed))
        server.link("B").follow(3000)
        steps = [step for step in program(seed) if isinstance(step, Batch)]
        lines = run_on(server, steps)
        scheduler.run(scheduler.now_us + SECOND)
        follower = server.link("B").follower
        assert follower is not None
        ours, theirs = follower.replica.tree.znodes, server.tree.znodes
        assert {path: ours[path].read() for path in ours} == {path: theirs[path].read() for path in theirs}
    seen: dict[str, int] = {}
    reads = [re.match(r"B: GetData\(path='(\S+)', .*Stat\(\[(\d+), (\d+)", line) for line in lines]
    for path, czxid, mzxid in [read.groups() for read in reads if read]:
        assert max(int(czxid), int(mzxid)) >= seen.get(path, 0)
        seen[path] = int(mzxid)
    assert len(seen) > 2
