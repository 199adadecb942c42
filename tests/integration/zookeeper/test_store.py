"""Store on a real ZooKeeper: chunks, fences, answers that get lost, and watches that outlive a connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kcontroller_chaos.mutants.kafka_6082 import MUTANT
from pytest_kcontroller import seams
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.end_session import close_session
from pytest_kcontroller.fixtures.zookeeper import TestZooKeeper
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.zookeeper.kazoo_session import KazooConnector
from pytest_kcontroller.zookeeper.session import (
    BadVersionError,
    Check,
    Children,
    ConnectionLossError,
    Create,
    Created,
    Delete,
    Node,
    NodeExistsError,
    NoNodeError,
    RequestTooBigError,
    SessionEvent,
    SessionExpiredError,
    SessionState,
    SetData,
    Stat,
    StateEvent,
    WatchEvent,
    WatchKind,
)
from pytest_kcontroller.zookeeper.store import Fence, FencedError, Stale, Store, TooBig, Written

LIMIT_S = 30
TIMEOUT_MS = 30_000
"""Of a session that loses nothing, not even its connection, because a machine is busy."""
CREATE, EXISTS, GET_DATA, GET_CHILDREN, MULTI, MULTI_READ = 1, 3, 4, 12, 14, 22
SUSPENDED, CONNECTED = StateEvent(SessionState.SUSPENDED), StateEvent(SessionState.CONNECTED)
OPEN, SHUT = Fence(0), Fence(7)


def run(work: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with within(scaled(LIMIT_S)):
            await work

    asyncio.run(limited())


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110  # what is waited for is a list that a listener fills
        await asyncio.sleep(0.005)


@asynccontextmanager
async def store_at(
    address: Address, zookeeper: TestZooKeeper, **settings: int
) -> AsyncIterator[tuple[Store, list[SessionEvent]]]:
    events: list[SessionEvent] = []
    stores: list[Store] = []
    connector = KazooConnector(f"{address}{zookeeper.chroot}", timeout_ms=TIMEOUT_MS)
    session = await connector.open(lambda event: stores[0].handle(event))
    stores.append(Store(session, on_event=events.append, **settings))
    try:
        yield stores[0], events
    finally:
        await session.close()


Scene = Callable[[Store, Any, Store, list[SessionEvent]], Coroutine[Any, Any, None]]


@pytest.fixture
def stage(zookeeper: TestZooKeeper, cutting_proxy: Any) -> Any:
    """Runs `scene(store, proxy, other, events)`: a store behind a proxy, and another one straight on the server."""

    def play(scene: Scene, **settings: int) -> None:
        async def main() -> None:
            async with (
                cutting_proxy(zookeeper.server) as proxy,
                store_at(zookeeper.server, zookeeper) as (other, _),
                store_at(proxy.address, zookeeper, **settings) as (store, events),
            ):
                await other.ensure_paths(["/controller_epoch", "/t"])
                await scene(store, proxy, other, events)

        run(main())

    return play


def names(count: int) -> list[str]:
    return [f"/t/{number}" for number in range(count)]


async def versions(store: Store, paths: list[str]) -> list[int | None]:
    return [node and node.stat.version for node in await store.get_many(paths)]


# --- write_each


@pytest.mark.parametrize(
    ("count", "stale"),
    [
        (2000, (1999,)),
        (400, ()),
        (400, (0,)),
        (400, tuple(range(0, 400, 20))),
        (400, tuple(range(0, 400, 10))),
        (400, tuple(range(400))),
    ],
)
def test_stale_ones_are_told_and_the_others_written(stage: Any, count: int, stale: tuple[int, ...]) -> None:
    """None, one, five and ten of each chunk, and all, in four chunks."""

    async def scene(store: Store, _: Any, other: Store, events: list[SessionEvent]) -> None:
        paths = names(count)
        assert await store.write_each([Create(path, b"0") for path in paths], fence=OPEN) == [Written(0)] * count
        await other.write_each([SetData(paths[number], b"theirs", 0) for number in stale], fence=OPEN)
        results = await store.write_each([SetData(path, b"ours", 0) for path in paths], fence=OPEN)
        for number, (result, node) in enumerate(zip(results, await store.get_many(paths), strict=True)):
            assert node is not None
            assert node.data == (b"theirs" if number in stale else b"ours")
            assert result == (Stale(node) if number in stale else Written(1))
        assert events == []

    stage(scene, chunk_ops=count // 4)


def test_creates_and_deletes(stage: Any) -> None:
    async def scene(store: Store, _: Any, other: Store, events: list[SessionEvent]) -> None:
        await other.write_all([Create("/t/taken", b"x"), Create("/t/gone"), Create("/t/full"), Create("/t/full/child")])
        ops = [
            Create("/t/new", b"n"),
            Create("/t/taken", b"y"),
            Create("/t/no/parent"),
            Delete("/t/gone", 0),
            Delete("/t/never", 0),
            Delete("/t/full", 0),
            Delete("/t/taken", 4),
            SetData("/t/never", b"", 0),
            Create("/t/last"),
        ]
        results = await store.write_each(ops, fence=OPEN)
        full, taken = await store.get_many(["/t/full", "/t/taken"])
        assert results == [
            Written(0), Stale(taken), Stale(None), Written(-1), Written(-1),
            Stale(full), Stale(taken), Stale(None), Written(0),
        ]  # fmt: skip

    stage(scene)


def test_many_refused_ones_end_too(stage: Any) -> None:
    """More than there are rounds: each round learns of one."""

    async def scene(store: Store, _: Any, other: Store, events: list[SessionEvent]) -> None:
        ops = [Create(f"/no/{number}" if number % 2 else f"/t/{number}") for number in range(100)]
        results = await store.write_each(ops, fence=OPEN)
        assert results == [Stale(None) if number % 2 else Written(0) for number in range(100)]

    stage(scene)


def test_nothing_to_write(stage: Any) -> None:
    async def scene(store: Store, _: Any, other: Store, events: list[SessionEvent]) -> None:
        assert await store.write_each([], fence=SHUT) == []
        assert await store.get_many([]) == []
        await store.ensure_paths([])

    stage(scene)


@pytest.mark.parametrize("size", [1, 7, 500])
def test_over_one_mebibyte_in_all_is_cut_into_chunks(stage: Any, size: int) -> None:
    async def scene(store: Store, _: Any, other: Store, events: list[SessionEvent]) -> None:
        paths = names(30)
        results = await store.write_each([Create(path, b"x" * 100_000) for path in paths], fence=OPEN)
        assert results == [Written(0)] * 30
        assert [len(node.data) for node in await store.get_many(paths) if node] == [100_000] * 30
        assert events == []  # ZooKeeper would have closed the connection over a larger request

    stage(scene, chunk_ops=size)


def test_one_that_is_too_big_is_an_error_of_that_one(stage: Any) -> None:
    async def scene(store: Store, proxy: Any, other: Store, events: list[SessionEvent]) -> None:
        ops = [Create("/t/a"), Create("/t/big", b"x" * 1_100_000), Create("/t/b")]
        assert await store.write_each(ops, fence=OPEN) == [Written(0), TooBig("/t/big"), Written(0)]
        with pytest.raises(RequestTooBigError):
            await store.write_all(ops)
        assert events == []

    stage(scene)


@pytest.mark.parametrize("phase", ["request", "reply"])
@pytest.mark.parametrize("chunk", [0, 1, 2])
def test_an_answer_that_was_lost_is_read_back(stage: Any, phase: str, chunk: int) -> None:
    """Whether the multi was done or not: each znode is written once, by one try or the other."""

    async def scene(store: Store, proxy: Any, other: Store, events: list[SessionEvent]) -> None:
        paths = names(30)
        await other.write_each([Create(path, b"0") for path in paths[:20]], fence=OPEN)
        await other.write_each([SetData(paths[3], b"theirs", 0)], fence=OPEN)
        theirs = await other.get(paths[3])
        proxy.cut_at(phase, MULTI, skip=chunk)
        ops = [*(SetData(path, b"1", 0) for path in paths[:20]), *(Create(path, b"1") for path in paths[20:])]
        results = await store.write_each(ops, fence=OPEN)
        assert proxy.cuts == 1
        assert results == [Stale(theirs) if number == 3 else Written(int(number < 20)) for number in range(30)]
        assert await versions(store, paths) == [1] * 20 + [0] * 10
        assert events == [SUSPENDED, CONNECTED]

    stage(scene, chunk_ops=10)


def test_the_read_back_can_be_lost_too(stage: Any) -> None:
    async def scene(store: Store, proxy: Any, other: Store, events: list[SessionEvent]) -> None:
        await other.write_each([Create(path, b"0") for path in names(20)], fence=OPEN)
        await other.write_each([SetData("/t/3", b"theirs", 0)], fence=OPEN)
        proxy.cut_at("reply", MULTI_READ)
        results = await store.write_each([SetData(path, b"1", 0) for path in names(20)], fence=OPEN)
        assert proxy.cuts == 1
        assert [number for number, result in enumerate(results) if result != Written(1)] == [3]

    stage(scene)


def test_a_session_that_ends_ends_the_writing(stage: Any, zookeeper: TestZooKeeper) -> None:
    async def scene(store: Store, proxy: Any, other: Store, events: list[SessionEvent]) -> None:
        proxy.hold()
        writing = asyncio.ensure_future(store.write_each([Create(path) for path in names(50)], fence=OPEN))
        reading = asyncio.ensure_future(store.get_watched(names(50)))
        await asyncio.sleep(0)
        session = store.session
        await close_session(zookeeper.server, session.session_id, session.password, timeout_s=scaled(LIMIT_S))
        proxy.cut()
        proxy.release()
        for waiting in (writing, reading):
            with pytest.raises(SessionExpiredError):
                await waiting
        assert await versions(other, names(50)) == [None] * 50
        assert events == [SUSPENDED, StateEvent(SessionState.EXPIRED)]

    stage(scene, chunk_ops=10)


# --- the fence


def test_a_closed_fence_refuses_everything(stage: Any) -> None:
    async def scene(store: Store, _: Any, other: Store, events: list[SessionEvent]) -> None:
        with pytest.raises(FencedError, match="/controller_epoch"):
            await store.write_each([Create(path) for path in names(25)], fence=SHUT)
        with pytest.raises(FencedError):
            await store.write_all([Create("/t/a")], fence=SHUT)
        with pytest.raises(FencedError):
            await store.write_all([Create("/t/a")], fence=Fence(0, "/no/fence"))
        assert await store.children("/t") == Children((), await store.exists("/t"))

    stage(scene, chunk_ops=10)


def test_a_fence_that_is_stale_refuses_changes_too(stage: Any) -> None:
    async def scene(store: Store, _: Any, other: Store, events: list[SessionEvent]) -> None:
        paths = names(25)
        await store.write_each([Create(path) for path in paths], fence=OPEN)
        await other.write_all([SetData("/controller_epoch", b"2", 0)])
        with pytest.raises(FencedError):
            await store.write_each([SetData(path, b"x", 0) for path in paths], fence=OPEN)
        assert await versions(other, paths) == [0] * 25

    stage(scene, chunk_ops=10)


def test_a_fence_that_closes_while_the_answer_is_lost(stage: Any) -> None:
    async def scene(store: Store, proxy: Any, other: Store, events: list[SessionEvent]) -> None:
        proxy.cut_at("request", MULTI)
        proxy.refuse(1000)  # until the other has written, however long that takes
        writing = asyncio.ensure_future(store.write_each([Create(path) for path in names(5)], fence=OPEN))
        await until(lambda: proxy.cuts == 1)
        await other.write_all([SetData("/controller_epoch", b"2", 0)])
        proxy.refuse(0)
        with pytest.raises(FencedError):
            await writing
        assert await versions(other, names(5)) == [None] * 5

    stage(scene)


def test_without_the_fence_a_deposed_writer_writes(stage: Any) -> None:
    """The mutant KAFKA-6082: what the fence is there for. Results must not be read as if a check were in front."""

    async def scene(store: Store, proxy: Any, other: Store, events: list[SessionEvent]) -> None:
        with seams.installed(MUTANT):
            await other.write_each([Create("/t/0", b"theirs")], fence=OPEN)
            theirs = await other.get("/t/0")
            results = await store.write_each([Create(path, b"x") for path in names(25)], fence=SHUT)
            assert results == [Stale(theirs), *[Written(0)] * 24]
            assert await store.write_all([Create("/t/all")], fence=SHUT) == (Created("/t/all"),)
            with pytest.raises(BadVersionError):
                await store.write_all([SetData("/t/all", b"", 9)], fence=SHUT)
            proxy.cut_at("reply", MULTI)
            assert await store.write_each([SetData("/t/1", b"y", 0)], fence=SHUT) == [Written(1)]
            assert seams.counts()["store.fence"] >= 5

    stage(scene, chunk_ops=10)


# --- write_all


def test_write_all_is_all_or_nothing(stage: Any) -> None:
    async def scene(store: Store, _: Any, other: Store, events: list[SessionEvent]) -> None:
        created, stat = await store.write_all([Create("/t/a"), SetData("/t/a", b"1")], fence=OPEN)
        assert created == Created("/t/a")
        assert isinstance(stat, Stat)
        assert stat.version == 1
        for bad, error in (
            (Create("/t/a"), NodeExistsError),
            (SetData("/t/a", b"", 9), BadVersionError),
            (Check("/t/a", 9), BadVersionError),
            (Delete("/t/none"), NoNodeError),
        ):
            with pytest.raises(error) as raised:
                await store.write_all([Create("/t/b"), bad, Create("/t/c")], fence=OPEN)
            assert raised.value.path == bad.path
        assert await versions(store, ["/t/b", "/t/c"]) == [None, None]

    stage(scene)


@pytest.mark.parametrize(("phase", "done"), [("request", False), ("reply", True)])
def test_write_all_leaves_a_lost_answer_to_its_caller(stage: Any, phase: str, done: bool) -> None:
    async def scene(store: Store, proxy: Any, other: Store, events: list[SessionEvent]) -> None:
        proxy.cut_at(phase, MULTI)
        with pytest.raises(ConnectionLossError):
            await store.write_all([Create("/t/a")], fence=OPEN)
        assert (await store.exists("/t/a") is not None) == done

    stage(scene)


# --- reads


@pytest.mark.parametrize("phase", ["request", "reply"])
@pytest.mark.parametrize("skip", [0, 3])
def test_reads_are_asked_again(stage: Any, phase: str, skip: int) -> None:
    async def scene(store: Store, proxy: Any, other: Store, events: list[SessionEvent]) -> None:
        paths = names(40)
        await other.write_each([Create(path, path.encode()) for path in paths if path != "/t/7"], fence=OPEN)
        for opcode, read in ((MULTI_READ, store.get_many), (GET_DATA, store.get_watched)):
            proxy.cut_at(phase, opcode, skip=skip)
            nodes = await read(paths)
            assert [node and node.data for node in nodes] == [None if p == "/t/7" else p.encode() for p in paths]
        for opcode in (EXISTS, GET_CHILDREN):
            proxy.cut_at(phase, opcode)
            assert await store.exists("/t/1") is not None
            assert (await store.children("/t") or Children(())).names == tuple(
                sorted(p[3:] for p in paths if p != "/t/7")
            )
        assert proxy.cuts == 4

    stage(scene, chunk_ops=10)


def test_what_is_not_there(stage: Any) -> None:
    async def scene(store: Store, _: Any, other: Store, events: list[SessionEvent]) -> None:
        assert await store.get("/t/a") is None
        assert await store.exists("/t/a") is None
        assert await store.children("/t/a", watch=True) is None
        assert await store.get("/t/a", watch=True) is None
        await other.write_all([Create("/t/a")])
        await until(lambda: bool(events))
        assert events == [WatchEvent(WatchKind.CREATED, "/t/a")]

    stage(scene)


@pytest.mark.parametrize("skip", [0, 1, 3])
@pytest.mark.parametrize("phase", ["request", "reply"])
def test_ensure_paths_over_a_cut_connection(stage: Any, phase: str, skip: int) -> None:
    async def scene(store: Store, proxy: Any, other: Store, events: list[SessionEvent]) -> None:
        proxy.cut_at(phase, CREATE, skip=skip)
        await store.ensure_paths(["/a/b/c", "/a/d", "/t"])
        assert proxy.cuts == 1
        assert await versions(other, ["/a", "/a/b", "/a/b/c", "/a/d"]) == [0] * 4

    stage(scene)


def test_ensure_paths_without_a_root(zookeeper: TestZooKeeper) -> None:
    async def main() -> None:
        session = await KazooConnector(f"{zookeeper.server}/no/such/root", timeout_ms=TIMEOUT_MS).open(
            lambda event: None
        )
        with pytest.raises(NoNodeError):
            await Store(session).ensure_paths(["/a"])
        await session.close()

    run(main())


# --- watches that outlive a connection


async def watch_all(store: Store) -> None:
    await store.get_watched(["/t/changed", "/t/deleted", "/t/again", "/t/same", "/t/created"])
    await store.children("/t/parent", watch=True)
    await store.children("/t/same", watch=True)
    await store.children("/t/deleted", watch=True)


async def change_all(other: Store) -> None:
    await other.write_all([SetData("/t/changed", b"2"), Delete("/t/deleted"), Delete("/t/again"), Create("/t/created")])
    await other.write_all([Create("/t/again"), Create("/t/parent/child")])


CHANGES = {
    WatchEvent(WatchKind.CHANGED, "/t/changed"),
    WatchEvent(WatchKind.DELETED, "/t/deleted"),
    WatchEvent(WatchKind.CHANGED, "/t/again"),
    WatchEvent(WatchKind.CREATED, "/t/created"),
    WatchEvent(WatchKind.CHILDREN, "/t/parent"),
}


async def cut(proxy: Any, events: list[SessionEvent]) -> None:
    """And lets nobody connect until `release`."""
    proxy.hold()
    proxy.cut()
    await until(lambda: SUSPENDED in events)


@pytest.mark.parametrize("again", [None, ("request", EXISTS), ("reply", EXISTS), ("reply", GET_CHILDREN)])
def test_changes_made_while_cut_are_told(stage: Any, again: tuple[str, int] | None) -> None:
    """Each once; also when the connection breaks again while the watches are being set."""

    async def scene(store: Store, proxy: Any, other: Store, events: list[SessionEvent]) -> None:
        await other.ensure_paths(["/t/changed", "/t/deleted", "/t/again", "/t/same", "/t/parent"])
        await watch_all(store)
        await cut(proxy, events)
        await change_all(other)
        if again is not None:
            proxy.cut_at(*again)
        proxy.release()
        await until(lambda: CONNECTED in events)
        await until(lambda: len(told(events)) >= len(CHANGES))
        await store.exists("/t")  # behind everything that is on its way
        assert set(told(events)) == CHANGES
        assert len(told(events)) == len(CHANGES)
        assert events.index(CONNECTED) < events.index(told(events)[0])
        assert proxy.cuts == (1 if again is None else 2)

        events.clear()
        await other.write_all([SetData("/t/same", b"2"), Create("/t/same/child")])
        await until(lambda: len(events) >= 2)  # set again for what had not changed
        assert events == [WatchEvent(WatchKind.CHANGED, "/t/same"), WatchEvent(WatchKind.CHILDREN, "/t/same")]

    stage(scene)


def told(events: list[SessionEvent]) -> list[WatchEvent]:
    return [event for event in events if isinstance(event, WatchEvent)]


def test_a_loss_between_two_replies_of_one_read_misses_nothing(stage: Any) -> None:
    """The first znode has been read and is watched; its reader still waits for the second when the watch is lost."""

    async def scene(store: Store, proxy: Any, other: Store, events: list[SessionEvent]) -> None:
        await other.ensure_paths(names(2))
        proxy.cut_at("reply", GET_DATA, skip=1)
        proxy.refuse(2)
        reading = asyncio.ensure_future(store.get_watched(names(2)))
        await until(lambda: SUSPENDED in events)
        await other.write_all([SetData("/t/0", b"new")])
        first, _ = await reading
        assert isinstance(first, Node)
        if first.data != b"new":
            await until(lambda: WatchEvent(WatchKind.CHANGED, "/t/0") in events)

    stage(scene)


def test_what_fired_or_was_never_watched_is_not_told(stage: Any) -> None:
    async def scene(store: Store, proxy: Any, other: Store, events: list[SessionEvent]) -> None:
        await other.ensure_paths(names(3))
        await store.get_watched(["/t/0"])
        await store.get_many(["/t/1"])
        await store.get_watched(["/t/2"])
        await other.write_all([SetData("/t/0", b"1")])
        await until(lambda: bool(events))
        await cut(proxy, events)
        await other.write_all([SetData("/t/0", b"2"), SetData("/t/1", b"2"), SetData("/t/2", b"2")])
        events.clear()
        proxy.release()
        await until(lambda: WatchEvent(WatchKind.CHANGED, "/t/2") in events)
        await store.exists("/t")
        assert told(events) == [WatchEvent(WatchKind.CHANGED, "/t/2")]

    stage(scene)


def test_a_read_that_waited_for_the_connection_hides_no_change(stage: Any) -> None:
    """Somebody else reads the new state first; who set the watch must hear all the same."""

    async def scene(store: Store, proxy: Any, other: Store, events: list[SessionEvent]) -> None:
        await other.ensure_paths(["/t/0"])
        await store.get_watched(["/t/0"])
        await cut(proxy, events)
        reading = asyncio.ensure_future(store.get("/t/0", watch=True))
        await asyncio.sleep(0)
        await other.write_all([SetData("/t/0", b"new")])
        proxy.release()
        node = await reading
        assert node is not None
        assert node.data == b"new"
        await until(lambda: WatchEvent(WatchKind.CHANGED, "/t/0") in events)

    stage(scene)
