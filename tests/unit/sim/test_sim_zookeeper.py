"""The simulated ZooKeeper's sessions and links: what the comparison with the real server cannot draw exactly."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.runtime.scheduler import Scheduler, SimLoop
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.sim.zookeeper.server import SimZooKeeper
from pytest_kcontroller.sim.zookeeper.session import SimConnector, SimSession
from pytest_kcontroller.zookeeper.session import (
    ConnectionLossError,
    Create,
    Exists,
    GetChildren,
    GetData,
    Multi,
    Node,
    NoNodeError,
    Request,
    RequestTooBigError,
    SessionEvent,
    SessionExpiredError,
    SessionState,
    SetData,
    StateEvent,
    WatchEvent,
    WatchKind,
)

T = TypeVar("T")

ROOT = Path(__file__).parents[3]

SECOND = 1_000_000
TIMEOUT_MS = 3000
CONNECTED, SUSPENDED = StateEvent(SessionState.CONNECTED), StateEvent(SessionState.SUSPENDED)
EXPIRED, CLOSED = StateEvent(SessionState.EXPIRED), StateEvent(SessionState.CLOSED)


class World:
    """A server, and processes that have one session each."""

    def __init__(self, scheduler: Scheduler, seed: int = 1) -> None:
        self.scheduler = scheduler
        self.server = SimZooKeeper(scheduler, NamedRng(seed))
        self.loops: dict[str, SimLoop] = {}
        self.heard: dict[str, list[SessionEvent]] = {}

    def open(self, name: str, timeout_ms: int = TIMEOUT_MS, chroot: str = "") -> SimSession:
        if name not in self.loops:
            self.loops[name] = self.scheduler.process(name)
        heard = self.heard[name] = []
        connector = SimConnector(self.server, self.loops[name], timeout_ms=timeout_ms, chroot=chroot)
        return self.run(name, lambda: connector.open(heard.append))

    def run(self, name: str, work: Callable[[], Awaitable[T]]) -> T:
        async def step() -> T:
            return await work()

        return self.scheduler.run_until_complete(self.loops[name].create_task(step()))

    def ask(self, name: str, session: SimSession, request: Request) -> object:
        return self.run(name, lambda: session.submit(request))

    def after(self, seconds: float) -> None:
        self.scheduler.run(self.scheduler.now_us + round(seconds * SECOND))

    def data(self, path: str) -> bytes | None:
        znode = self.server.tree.znodes.get(path)
        return None if znode is None else znode.data


@pytest.fixture
def world() -> Iterator[World]:
    with Scheduler() as scheduler:
        yield World(scheduler)


@pytest.mark.parametrize(("asked_ms", "granted_ms"), [(100, 400), (3000, 3000), (100_000, 60_000)])
def test_the_server_grants_a_timeout_within_its_bounds(world: World, asked_ms: int, granted_ms: int) -> None:
    assert world.open("a", asked_ms).timeout_ms == granted_ms


def test_an_idle_session_lives_and_costs_three_handles_per_timeout(world: World) -> None:
    session = world.open("a")
    before = world.scheduler._scheduled
    world.after(300)
    assert session.state == SessionState.CONNECTED
    assert world.heard["a"] == []
    assert world.scheduler._scheduled - before <= 300 + 110


@pytest.mark.parametrize("how", ["kill", "pause"])
def test_a_process_that_says_nothing_is_given_up_on_a_tick_after_its_timeout(world: World, how: str) -> None:
    watcher = world.open("watcher", 60_000)
    session = world.open("a")
    world.ask("a", session, Create("/e", ephemeral=True))
    world.ask("watcher", watcher, Exists("/e", watch=True))
    silent_us = world.scheduler.now_us
    (world.scheduler.kill if how == "kill" else world.scheduler.pause)(world.loops["a"])
    world.after(10)
    assert world.heard["watcher"] == [WatchEvent(WatchKind.DELETED, "/e")]
    t_us, txn = world.server.txns[-1]
    assert (txn.type, txn.session, txn.cxid, txn.closed) == ("close-session", session.session_id, 0, ("/e",))
    assert t_us % 200_000 == 0
    assert silent_us + 2 * SECOND <= t_us <= silent_us + 3 * SECOND + 400_000
    if how == "pause":
        world.scheduler.resume(world.loops["a"])
        world.after(1)
        assert world.heard["a"] == [SUSPENDED, EXPIRED]


def test_a_short_silence_costs_nothing(world: World) -> None:
    session = world.open("a")
    world.server.link("a").hold()
    world.after(0.9)
    world.server.link("a").heal()
    world.after(10)
    assert world.heard["a"] == []
    assert session.state == SessionState.CONNECTED


def test_a_client_that_hears_nothing_for_two_thirds_is_suspended_and_comes_back(world: World) -> None:
    session = world.open("a", 30_000)
    world.server.link("a").hold()
    world.after(24)
    assert world.heard["a"] == [SUSPENDED]
    world.server.link("a").heal()
    world.after(1)
    assert world.heard["a"] == [SUSPENDED, CONNECTED]
    assert list(world.server.sessions) == [session.session_id]


def test_a_silence_over_the_timeout_ends_the_session(world: World) -> None:
    session = world.open("a")
    world.server.link("a").hold()
    world.after(10)
    assert world.heard["a"] == [SUSPENDED]
    assert world.server.sessions == {}
    world.server.link("a").heal()
    world.after(1)
    assert world.heard["a"] == [SUSPENDED, EXPIRED]
    with pytest.raises(SessionExpiredError):
        world.ask("a", session, GetData("/"))


@pytest.mark.parametrize(("arriving", "made"), [(0, []), (2, ["/0", "/1"]), (3, ["/0", "/1", "/2"])])
def test_a_cut_tells_how_many_requests_on_the_way_had_their_effect(
    world: World, arriving: int, made: list[str]
) -> None:
    session = world.open("a")
    told: list[object] = []

    async def work() -> None:
        futures = [session.submit(Create(f"/{number}")) for number in range(3)]
        world.server.link("a").reset(arriving)
        for future in futures:
            try:
                told.append(await future)
            except ConnectionLossError as lost:
                told.append((lost.path, world.heard["a"][-1]))

    world.run("a", work)
    world.after(1)
    assert told == [(f"/{number}", SUSPENDED) for number in range(3)]
    assert [path for path in ("/0", "/1", "/2") if world.data(path) is not None] == made
    assert world.heard["a"] == [SUSPENDED, CONNECTED]


def test_what_arrives_of_a_cut_connection_is_drawn_from_the_seed() -> None:
    def arrived(seed: int) -> list[str]:
        with Scheduler() as scheduler:
            world = World(scheduler, seed)
            session = world.open("a")
            for number in range(9):
                session.submit(Create(f"/{number}"))
            world.server.link("a").cut()
            world.after(1)
            return sorted(path for path in world.server.tree.znodes if path[1:].isdigit())

    assert [arrived(seed) for seed in range(20)] == [arrived(seed) for seed in range(20)]
    assert len({len(arrived(seed)) for seed in range(20)}) > 4


def test_a_reply_on_its_way_is_lost_with_the_connection_but_the_write_is_done(world: World) -> None:
    session = world.open("a")
    lost = session.submit(Create("/x"))
    world.scheduler.run(world.scheduler.now_us + 300)
    assert world.data("/x") == b""
    world.server.link("a").reset(heard=0)
    world.after(1)
    assert isinstance(lost.exception(), ConnectionLossError)


@pytest.mark.parametrize("heard", range(4))
def test_a_cut_tells_how_much_of_what_the_server_has_sent_is_heard(world: World, heard: int) -> None:
    """Also an event without the reply behind it."""
    session = world.open("a")
    world.ask("a", session, Exists("/x", watch=True))
    told: list[object] = world.heard["a"]  # type: ignore[assignment]  # replies and events in one list
    session.submit(SetData("/", b"")).add_done_callback(lambda future: told.append(future.exception() is None))
    session.submit(Create("/x")).add_done_callback(lambda future: told.append(future.exception() is None))
    world.scheduler.run(world.scheduler.now_us + 300)
    assert told == []
    world.server.link("a").reset(heard=heard)
    world.after(1)
    all_of_it = [True, WatchEvent(WatchKind.CREATED, "/x"), True]
    lost = [False] * (heard < 1) + [False] * (heard < 3)
    assert told == [*all_of_it[:heard], SUSPENDED, *lost, CONNECTED]


def test_a_hook_of_the_server_loses_a_write_before_or_after_its_effect(world: World) -> None:
    session = world.open("a")
    done_at = {"/before": False, "/after": True}

    def look(link: str, request: Request, done: bool) -> None:
        if isinstance(request, Create) and done_at[request.path] == done:
            world.server.link(link).reset()

    world.server.on_request = look
    for path, applied in done_at.items():
        with pytest.raises(ConnectionLossError):
            world.ask("a", session, Create(path))
        world.after(1)
        assert (world.data(path) is not None) == applied


def test_requests_made_while_suspended_wait_and_keep_their_order(world: World) -> None:
    session = world.open("a")
    world.server.link("a").cut()
    world.after(0.1)
    waiting = [session.submit(SetData("/", bytes([number]))) for number in range(3)]
    world.after(1)
    assert not any(future.done() for future in waiting)
    world.server.link("a").heal()
    world.after(1)
    versions = [future.result().version for future in waiting]  # type: ignore[attr-defined]
    assert versions == [1, 2, 3]


def test_watches_are_gone_with_the_connection(world: World) -> None:
    watcher, writer = world.open("watcher"), world.open("writer")
    world.ask("watcher", watcher, GetChildren("/", watch=True))
    world.server.link("watcher").reset()
    world.after(1)
    world.ask("writer", writer, Create("/x"))
    world.after(1)
    assert world.heard["watcher"] == [SUSPENDED, CONNECTED]


def test_a_deletion_fires_data_and_child_watches_once(world: World) -> None:
    session = world.open("a")
    for request in (Create("/x"), GetData("/x", watch=True), GetChildren("/x", watch=True), Exists("/x", watch=True)):
        world.ask("a", session, request)
    world.server.tree.delete("/x", -1, zxid=9)
    world.server._fire()
    world.after(1)
    assert world.heard["a"] == [WatchEvent(WatchKind.DELETED, "/x")]


def test_ephemerals_can_outlive_what_their_client_knows_of_its_session(world: World) -> None:
    session = world.open("a")
    world.ask("a", session, Create("/e", ephemeral=True))
    world.server.removal_delay_us = 5 * SECOND
    world.server.expire(session.session_id)
    world.after(1)
    assert world.heard["a"] == [SUSPENDED, EXPIRED]
    assert world.data("/e") == b""
    with pytest.raises(KeyError):
        world.server.expire(session.session_id)
    again = world.open("a")
    assert world.ask("a", again, Exists("/e")) is not None
    world.after(5)
    assert world.data("/e") is None
    assert world.server.txns[-1][1].closed == ("/e",)


def test_an_expired_session_is_told_when_it_comes_back(world: World) -> None:
    session = world.open("a")
    world.server.expire(session.session_id)
    world.after(1)
    assert world.heard["a"] == [SUSPENDED, EXPIRED]
    with pytest.raises(KeyError):
        world.server.expire(session.session_id)


def test_close_without_an_answer_ends_after_the_grace(world: World) -> None:
    session = world.open("a")
    world.server.link("a").hold()
    begun_us = world.scheduler.now_us
    world.run("a", session.close)
    assert world.scheduler.now_us - begun_us == 1_000_000
    assert world.heard["a"] == [CLOSED]
    assert len(world.server.sessions) == 1
    world.after(10)
    assert world.server.sessions == {}


def test_a_server_that_is_started_again_keeps_tree_and_sessions(world: World) -> None:
    session = world.open("a")
    world.ask("a", session, Create("/e", ephemeral=True))
    world.server.stop()
    world.after(60)
    assert world.heard["a"] == [SUSPENDED]
    world.server.start()
    world.after(60)
    assert world.heard["a"] == [SUSPENDED, CONNECTED]
    assert isinstance(world.ask("a", session, GetData("/e")), Node)


def test_after_a_pause_of_the_server_a_session_lives_whose_client_has_come_back_meanwhile(world: World) -> None:
    world.open("a")
    world.open("b")
    world.server.link("b").hold()
    world.scheduler.pause(world.server.loop)
    world.after(20)
    assert world.heard == {"a": [SUSPENDED], "b": [SUSPENDED]}
    world.scheduler.resume(world.server.loop)
    world.after(1)
    world.server.link("b").heal()
    world.after(1)
    assert world.heard == {"a": [SUSPENDED, CONNECTED], "b": [SUSPENDED, EXPIRED]}


def test_opening_waits_for_the_server_and_can_be_given_up(world: World) -> None:
    loop = world.loops["a"] = world.scheduler.process("a")
    world.server.link("a").cut()

    async def work() -> None:
        with pytest.raises(TimeoutError):
            async with within(5):
                await SimConnector(world.server, loop, timeout_ms=TIMEOUT_MS).open(lambda _: None)

    world.run("a", work)
    world.server.link("a").heal()
    world.after(10)
    assert world.server.sessions == {}


def test_opening_that_is_given_up_when_the_answer_has_just_come_leaves_no_session_for_long(world: World) -> None:
    loop = world.loops["a"] = world.scheduler.process("a")
    heard: list[SessionEvent] = []

    async def work() -> None:
        connector = SimConnector(world.server, loop, timeout_ms=TIMEOUT_MS)
        opening = loop.create_task(connector.open(heard.append))
        await asyncio.sleep(0.0005)  # the moment of the answer
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening

    world.run("a", work)
    world.after(10)
    assert world.server.sessions == {}
    assert [txn.type for _, txn in world.server.txns] == ["create-session", "close-session"]
    assert loop.errors == []


def test_what_a_process_has_sent_has_its_effect_although_it_is_killed_at_once(world: World) -> None:
    session = world.open("a")
    for number in range(3):
        session.submit(Create(f"/{number}", ephemeral=True))
    world.scheduler.kill(world.loops.pop("a"))
    world.server.link("a").hold()
    again = world.scheduler.process("a")
    world.loops["a"] = again
    world.after(0.1)
    assert not [path for path in world.server.tree.znodes if path[1:].isdigit()]
    world.server.link("a").heal()
    world.after(0.1)
    assert [path for path in world.server.tree.znodes if path[1:].isdigit()] == ["/0", "/1", "/2"]
    successor = world.open("a")
    world.after(10)
    assert not [path for path in world.server.tree.znodes if path[1:].isdigit()]
    assert list(world.server.sessions) == [successor.session_id]


def test_a_machine_whose_processes_are_killed_keeps_no_connections(world: World) -> None:
    for _ in range(5):
        world.open("a")
        world.scheduler.kill(world.loops.pop("a"))
    assert len(world.server.link("a")._connections) <= 2


def test_a_request_over_the_packet_limit_is_not_sent(world: World) -> None:
    session = world.open("a")
    with pytest.raises(RequestTooBigError):
        world.ask("a", session, Create("/x", b"x" * 1_048_576))
    with pytest.raises(NoNodeError):
        world.ask("a", session, GetData("/x"))


def test_the_transaction_log_says_what_the_real_one_says(world: World) -> None:
    session = world.open("a", chroot="/root")
    world.open("b")
    with pytest.raises(NoNodeError):
        world.ask("a", session, Create("/x"))
    world.server.tree.create("/root", b"", owner=0, sequence=False, zxid=3, now_ms=0)
    world.server._fire()
    world.ask("a", session, Create("/x", b"1", ephemeral=True))
    world.ask("a", session, Multi((SetData("/x", b"2"), Create("/y/z"), Create("/q"))))
    said = [(txn.zxid, txn.type, txn.cxid, txn.error) for _, txn in world.server.txns]
    assert said == [
        (1, "create-session", 0, None),
        (2, "create-session", 0, None),
        (3, "error", 1, -101),
        (4, "create", 2, None),
        (5, "multi", 3, None),
    ]
    (created,) = world.server.txns[3][1].ops
    assert (created.path, created.data, created.version, created.ephemeral) == ("/root/x", b"1", 0, True)
    assert [(op.type, op.path, op.version, op.code) for op in world.server.txns[4][1].ops] == [
        ("set", "/root/x", 1, None),
        ("error", None, None, -101),
        ("error", None, None, -2),
    ]


def test_a_request_on_a_broken_connection_has_no_effect_although_its_client_has_not_heard(world: World) -> None:
    session = world.open("a")

    async def work() -> None:
        world.server.link("a").reset(0)
        assert session.state == SessionState.CONNECTED
        with pytest.raises(ConnectionLossError):
            await session.submit(Create("/x"))

    world.run("a", work)
    world.after(1)
    assert world.data("/x") is None


def test_the_same_programs_give_the_same_bytes_whatever_the_hash_seed_is() -> None:
    program = (
        "import hashlib\n"
        "from tests.tools.zookeeper_programs import program, silent_program, simulated\n"
        "from tests.unit.sim.test_sim_zookeeper_faults import storm\n"
        "for seed in range(1, 4):\n"
        "    server, clients = storm(seed)\n"
        "    said = [*simulated(program(seed)), *simulated(silent_program(seed))]\n"
        "    said += [server.txns, *(client.answers for client in clients)]\n"
        "    print(hashlib.sha256('\\n'.join(map(str, said)).encode()).hexdigest())"
    )

    def printed(hash_seed: str) -> list[str]:
        environment = os.environ | {"PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    said = printed("0")
    assert said == printed("1")
    assert len(set(said)) == 3


def test_a_session_that_ends_while_its_link_is_held_is_told_after_the_silence(world: World) -> None:
    session = world.open("a")
    world.after(0.5)
    world.server.link("a").hold()
    world.server.expire(session.session_id)
    world.after(10)
    assert world.heard["a"] == [SUSPENDED]
    world.server.link("a").heal()
    world.after(1)
    assert world.heard["a"] == [SUSPENDED, EXPIRED]


def test_a_session_that_ends_during_a_short_hold_is_told_when_it_is_healed(world: World) -> None:
    session = world.open("a")
    world.server.link("a").hold()
    world.server.expire(session.session_id)
    world.after(0.1)
    assert world.heard["a"] == []
    world.server.link("a").heal()
    world.after(1)
    assert world.heard["a"] == [SUSPENDED, EXPIRED]
