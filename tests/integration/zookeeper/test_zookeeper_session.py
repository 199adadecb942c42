"""KazooSession on a real ZooKeeper: one FIFO, one session for ever, and a connection that is cut in every phase."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from kazoo.client import KazooClient

from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.end_session import close_session
from pytest_kcontroller.fixtures.zookeeper import TestZooKeeper
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.zookeeper.kazoo_session import KazooConnector, KazooSession
from pytest_kcontroller.zookeeper.session import (
    CLOSE_GRACE_S,
    BadVersionError,
    Check,
    Children,
    ConnectionLossError,
    Create,
    Created,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    MultiRead,
    Node,
    NodeExistsError,
    NoNodeError,
    RequestTooBigError,
    RolledBackError,
    SessionEvent,
    SessionExpiredError,
    SessionState,
    SetData,
    Stat,
    StateEvent,
    WatchEvent,
    WatchKind,
)

LIMIT_S = 30
TIMEOUT_MS = 30_000
"""Of a session that loses nothing, not even its connection, because a machine is busy."""
RACES = 1000
BURST = 5
SET_DATA, GET_DATA = 5, 4
SUSPENDED, CONNECTED = StateEvent(SessionState.SUSPENDED), StateEvent(SessionState.CONNECTED)
EXPIRED, CLOSED = StateEvent(SessionState.EXPIRED), StateEvent(SessionState.CLOSED)


def run(work: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with within(scaled(LIMIT_S)):
            await work

    asyncio.run(limited())


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110  # what is waited for is a list that a listener fills
        await asyncio.sleep(0.005)


@asynccontextmanager
async def session(
    address: Address | str, zookeeper: TestZooKeeper, *, timeout_ms: int = TIMEOUT_MS, chroot: str | None = None
) -> AsyncIterator[tuple[KazooSession, list[SessionEvent]]]:
    events: list[SessionEvent] = []
    hosts = f"{address}{zookeeper.chroot if chroot is None else chroot}"
    opened = await KazooConnector(hosts, timeout_ms=timeout_ms).open(events.append)
    try:
        yield opened, events
    finally:
        await opened.close()


def test_a_chroot_is_made_if_that_is_wanted(zookeeper: TestZooKeeper, zk: KazooClient) -> None:
    async def main() -> None:
        connector = KazooConnector(f"{zookeeper.connect_string}/a/b:9", timeout_ms=TIMEOUT_MS, makes_chroot=True)
        for path in ("/one", "/two"):
            opened = await connector.open(lambda event: None)
            await opened.submit(Create(path))
            await opened.close()

    run(main())
    assert sorted(zk.get_children("/a/b:9")) == ["one", "two"]


# --- one FIFO


class PlainSession:
    """What KazooSession would be without its FIFO: kazoo's two delivery threads, each posting to the loop."""

    def __init__(self, hosts: str, listener: Callable[[SessionEvent], None]) -> None:
        self._client, self._listener = KazooClient(hosts), listener
        self._client.start(timeout=scaled(LIMIT_S))
        self._loop = asyncio.get_running_loop()

    def submit(self, request: GetData) -> asyncio.Future[Any]:
        future = self._loop.create_future()

        def watched(event: Any) -> None:
            self._loop.call_soon_threadsafe(self._listener, WatchEvent(WatchKind.CHANGED, event.path))

        def answered(result: Any) -> None:
            data, stat = result.get()
            self._loop.call_soon_threadsafe(future.set_result, Node(data, stat))

        self._client.get_async(request.path, watched if request.watch else None).rawlink(answered)
        return future

    async def close(self) -> None:
        self._client.stop()
        self._client.close()


async def overtaken(reader: Any, writer: KazooSession, events: list[SessionEvent], races: int) -> int:
    """How often the watch event came after a reply with the newer state, or before one with the older state."""
    count = 0
    for _ in range(races):
        events.clear()
        before = await reader.submit(GetData("/raced", watch=True))
        write = writer.submit(SetData("/raced", b""))
        newer = late = False
        while not newer:  # reads follow each other closely, so that one is just behind the event
            for reply in [reader.submit(GetData("/raced")) for _ in range(BURST)]:
                newer = newer or (await reply).stat.mzxid > before.stat.mzxid
                late = late or newer == (not events)
        count += late
        await until(lambda: bool(events))
        assert events == [WatchEvent(WatchKind.CHANGED, "/raced")]
        written: Any = await write
        assert written.mzxid > before.stat.mzxid
    return count


def test_a_reply_never_overtakes_the_watch_event_before_it(zookeeper: TestZooKeeper) -> None:
    async def main() -> None:
        async with session(zookeeper.server, zookeeper) as (writer, _):
            await writer.submit(Create("/raced"))
            async with session(zookeeper.server, zookeeper) as (reader, events):
                assert await overtaken(reader, writer, events, RACES) == 0

    run(main())


def test_the_same_race_is_lost_on_kazoos_own_delivery(zookeeper: TestZooKeeper) -> None:
    """Otherwise the test above would race nothing."""

    async def main() -> None:
        events: list[SessionEvent] = []
        async with session(zookeeper.server, zookeeper) as (writer, _):
            await writer.submit(Create("/raced"))
            reader = PlainSession(zookeeper.connect_string, events.append)
            try:
                lost = 0
                for _ in range(10):  # the first thousand is enough, unless the machine is very busy
                    if not lost:
                        lost = await overtaken(reader, writer, events, RACES)
                assert lost
            finally:
                await reader.close()

    run(main())


def test_a_loss_is_told_first_then_what_it_took_then_the_connection(
    zookeeper: TestZooKeeper, cutting_proxy: Any
) -> None:
    async def main() -> None:
        order: list[object] = []
        async with cutting_proxy(zookeeper.server) as proxy:
            hosts = f"{proxy.address}{zookeeper.chroot}"
            opened = await KazooConnector(hosts, timeout_ms=TIMEOUT_MS).open(order.append)
            proxy.cut_at("request", GET_DATA)
            for number in range(3):
                opened.submit(GetData("/")).add_done_callback(
                    lambda done, number=number: order.append((number, type(done.exception())))
                )
            await until(lambda: CONNECTED in order)
            lost = [(number, ConnectionLossError) for number in range(3)]
            assert order == [SUSPENDED, *lost, CONNECTED]
            await opened.close()
            assert order[-1] == CLOSED

    run(main())


def test_a_deletion_fires_data_and_child_watch_once(zookeeper: TestZooKeeper) -> None:
    async def main() -> None:
        async with session(zookeeper.server, zookeeper) as (opened, events):
            await opened.submit(Create("/gone"))
            opened.submit(GetData("/gone", watch=True))
            opened.submit(GetChildren("/gone", watch=True))
            await opened.submit(Delete("/gone"))
            await opened.submit(Exists("/gone"))
            assert events == [WatchEvent(WatchKind.DELETED, "/gone")]

    run(main())


# --- a connection that is cut


async def cut_idle(proxy: Any, opened: KazooSession) -> None:
    proxy.cut()
    await until(lambda: opened.state == SessionState.SUSPENDED)


async def before_send(proxy: Any, opened: KazooSession) -> None:
    proxy.hold()
    await cut_idle(proxy, opened)
    asyncio.get_running_loop().call_later(0.1, proxy.release)


async def during_reconnect(proxy: Any, opened: KazooSession) -> None:
    proxy.refuse(3)
    await cut_idle(proxy, opened)


async def after_send(proxy: Any, opened: KazooSession) -> None:
    proxy.cut_at("request", SET_DATA)


async def after_effect(proxy: Any, opened: KazooSession) -> None:
    proxy.cut_at("reply", SET_DATA)


@pytest.mark.parametrize(
    ("cut", "lost", "version"),
    [
        pytest.param(before_send, False, 1, id="before-send"),
        pytest.param(during_reconnect, False, 1, id="during-reconnect"),
        pytest.param(after_send, True, 0, id="after-send-before-effect"),
        pytest.param(after_effect, True, 1, id="after-effect-before-reply"),
    ],
)
def test_cut_in_every_phase(
    zookeeper: TestZooKeeper,
    cutting_proxy: Any,
    cut: Callable[[Any, KazooSession], Awaitable[None]],
    lost: bool,
    version: int,
) -> None:
    async def main() -> None:
        async with (
            cutting_proxy(zookeeper.server) as proxy,
            session(proxy.address, zookeeper) as (opened, events),
        ):
            await opened.submit(Create("/x"))
            await cut(proxy, opened)
            future = opened.submit(SetData("/x", b"1"))
            if lost:
                with pytest.raises(ConnectionLossError):
                    await future
            else:
                stat: Any = await future
                assert stat.version == 1
            stat = await opened.submit(Exists("/x"))
            assert stat.version == version
            assert proxy.cuts == 1
            assert events == [SUSPENDED, CONNECTED]
            assert proxy.handshakes[0] == 0
            assert set(proxy.handshakes[1:]) == {opened.session_id}  # one session all the time

    run(main())


def test_a_thousand_requests_while_cut_block_nothing_and_are_all_answered(
    zookeeper: TestZooKeeper, cutting_proxy: Any
) -> None:
    """kazoo's own way blocks the caller after some 280."""

    async def main() -> None:
        async with (
            cutting_proxy(zookeeper.server) as proxy,
            session(proxy.address, zookeeper) as (opened, _),
        ):
            proxy.hold()
            await cut_idle(proxy, opened)
            futures = [opened.submit(GetData("/")) for _ in range(3000)]
            assert not any(future.done() for future in futures)
            proxy.release()
            for future in futures:
                assert isinstance(await future, Node)

    run(main())


def test_lost_requests_that_nobody_awaits_are_not_logged(
    zookeeper: TestZooKeeper, cutting_proxy: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with (
            cutting_proxy(zookeeper.server) as proxy,
            session(proxy.address, zookeeper) as (opened, events),
        ):
            proxy.cut_at("request", GET_DATA)
            for _ in range(10):
                opened.submit(GetData("/"))
            opened.submit(Create("/big", b"x" * 2_000_000))
            await until(lambda: CONNECTED in events)
            gc.collect()

    gc.collect()  # what earlier tests have left
    with caplog.at_level(logging.ERROR):
        run(main())
    assert caplog.records == []


# --- the end of a session


async def connected(server: Address) -> set[int]:
    """The sessions with a connection, as the server says."""
    reader, writer = await asyncio.open_connection(server.host, server.port)
    writer.write(b"cons")
    text = (await reader.read(-1)).decode()
    writer.close()
    return {int(field.partition("=")[2], 16) for field in text.split(",") if field.startswith("sid=0x")}


def test_an_expired_session_never_becomes_another_one(zookeeper: TestZooKeeper, cutting_proxy: Any) -> None:
    async def main() -> None:
        order: list[object] = []
        async with (
            cutting_proxy(zookeeper.server) as proxy,
            session(zookeeper.server, zookeeper) as (other, _),
        ):
            await other.submit(Create("/x"))
            connector = KazooConnector(f"{proxy.address}{zookeeper.chroot}", timeout_ms=TIMEOUT_MS)
            old = await connector.open(order.append)
            await old.submit(GetData("/x", watch=True))
            proxy.hold()
            for number in range(3):
                old.submit(SetData("/x", b"old")).add_done_callback(
                    lambda done, number=number: order.append((number, type(done.exception())))
                )
            await close_session(zookeeper.server, old.session_id, old.password, timeout_s=scaled(LIMIT_S))
            proxy.cut()
            await until(lambda: old.state == SessionState.SUSPENDED)
            waiting = old.submit(SetData("/x", b"old"))  # would be the first request of a new connection
            proxy.release()
            with pytest.raises(SessionExpiredError):
                await waiting
            lost = [(number, ConnectionLossError) for number in range(3)]
            assert order == [SUSPENDED, *lost, EXPIRED]
            # kazoo would open another one after its delay: its thread has to end by itself, before anybody closes.
            await until(lambda: old._ended.done() or proxy.handshakes.count(0) > 1)
            assert proxy.handshakes == [0, old.session_id]
            assert other.session_id in await connected(zookeeper.server)
            assert old.session_id not in await connected(zookeeper.server)

            fresh: list[SessionEvent] = []
            new = await connector.open(fresh.append)
            assert new.session_id != old.session_id
            await other.submit(SetData("/x", b"new"))
            with pytest.raises(SessionExpiredError):
                await old.submit(SetData("/x", b"old"))
            node: Any = await new.submit(GetData("/x"))
            assert (node.data, node.stat.version) == (b"new", 1)
            assert fresh == []  # the watch was the old session's
            await old.close()
            assert old.state == SessionState.EXPIRED
            assert order == [SUSPENDED, *lost, EXPIRED]
            assert proxy.handshakes == [0, old.session_id, 0]  # the last one is the one that was asked for
            await new.close()

    run(main())


def test_expiry_by_itself(zookeeper: TestZooKeeper, cutting_proxy: Any) -> None:
    """ZooKeeper gives up a session that it does not hear of."""

    async def main() -> None:
        async with (
            cutting_proxy(zookeeper.server) as proxy,
            session(zookeeper.server, zookeeper) as (other, seen),
            session(proxy.address, zookeeper, timeout_ms=4000) as (opened, events),
        ):
            await opened.submit(Create("/mine", ephemeral=True))
            assert isinstance(await other.submit(Exists("/mine", watch=True)), Stat)
            proxy.hold()
            await until(lambda: WatchEvent(WatchKind.DELETED, "/mine") in seen)
            proxy.cut()
            proxy.release()
            await until(lambda: EXPIRED in events)
            with pytest.raises(SessionExpiredError):
                await opened.submit(GetData("/"))
            assert proxy.handshakes.count(0) == 1

    run(main())


def test_close_ends_the_session_in_zookeeper_at_once(zookeeper: TestZooKeeper) -> None:
    async def main() -> None:
        async with session(zookeeper.server, zookeeper) as (other, _):
            async with session(zookeeper.server, zookeeper) as (opened, events):
                created = opened.submit(Create("/mine", ephemeral=True))
                await opened.close()
                assert await created == Created("/mine")  # what was asked before is done before
                assert await other.submit(Exists("/mine")) is None
                assert (opened.state, events) == (SessionState.CLOSED, [CLOSED])
                with pytest.raises(SessionExpiredError):
                    await opened.submit(GetData("/"))
            assert events == [CLOSED]  # closed twice, told once

    run(main())


def test_close_ends_although_the_listener_raises(zookeeper: TestZooKeeper) -> None:
    """A node's writes its history, and the disk may be full."""

    async def main() -> None:
        def full(event: SessionEvent) -> None:
            raise OSError(errno.ENOSPC, f"{event} could not be written")

        raised: list[str] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: raised.append(str(context["exception"])))
        opened = await KazooConnector(zookeeper.connect_string, timeout_ms=TIMEOUT_MS).open(full)
        await opened.close()
        assert len(raised) == 1, raised
        assert "could not be written" in raised[0]

    run(main())


@pytest.mark.parametrize("state", ["connected", "suspended"])
def test_close_does_not_wait_for_a_host_that_does_not_answer(
    zookeeper: TestZooKeeper, cutting_proxy: Any, state: str
) -> None:
    async def main() -> None:
        async with cutting_proxy(zookeeper.server) as proxy:
            events: list[SessionEvent] = []
            connector = KazooConnector(f"{proxy.address}{zookeeper.chroot}", timeout_ms=TIMEOUT_MS)
            opened = await connector.open(events.append)
            proxy.hold()
            if state == "suspended":
                await cut_idle(proxy, opened)
                await until(lambda: len(proxy.handshakes) > 1)
            waiting = opened.submit(GetData("/"))
            async with within(scaled(CLOSE_GRACE_S + 2)):
                await opened.close()
            assert events[-1] == CLOSED
            with pytest.raises((SessionExpiredError, ConnectionLossError)):
                await waiting

    run(main())


def test_open_can_be_cancelled_while_nobody_answers(zookeeper: TestZooKeeper, cutting_proxy: Any) -> None:
    async def main() -> None:
        async with cutting_proxy(zookeeper.server) as proxy:
            proxy.hold()
            connector = KazooConnector(str(proxy.address), timeout_ms=TIMEOUT_MS)
            opening = asyncio.create_task(connector.open(lambda event: None))
            await until(lambda: bool(proxy.handshakes))
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening
            assert proxy.handshakes == [0]

    run(main())


# --- what is asked and answered


async def negotiated(server: Address, session_id: int) -> int | None:
    """As the server says. None: the session has no connection any more."""
    reader, writer = await asyncio.open_connection(server.host, server.port)
    writer.write(b"cons")
    text = (await reader.read(-1)).decode()
    writer.close()
    lines = [line for line in text.splitlines() if f"sid={session_id:#x}," in line]
    return int(lines[0].partition("to=")[2].partition(",")[0]) if lines else None


@pytest.mark.parametrize("asked_ms", [300, 4000, 3_600_000])
def test_the_time_out_is_the_servers(zookeeper: TestZooKeeper, asked_ms: int) -> None:
    async def main() -> None:
        while True:
            async with session(zookeeper.server, zookeeper, timeout_ms=asked_ms) as (opened, _):
                granted = await negotiated(zookeeper.server, opened.session_id)
            if granted is not None:  # the shortest may have ended before the server was asked
                break
        assert opened.timeout_ms == granted
        assert (granted == asked_ms) == (asked_ms == 4000)

    run(main())


@pytest.mark.parametrize("in_chroot", [True, False])
def test_every_request_with_and_without_a_chroot(zookeeper: TestZooKeeper, in_chroot: bool) -> None:
    async def main() -> None:
        root = "" if in_chroot else zookeeper.chroot
        chroot = zookeeper.chroot if in_chroot else ""
        async with (
            session(zookeeper.server, zookeeper, chroot=chroot) as (opened, events),
            session(zookeeper.server, zookeeper, chroot="") as (bare, _),
        ):
            ask = opened.submit
            top: Any = await ask(GetChildren(root or "/", watch=True))
            assert top.names == ()
            assert await ask(Exists(f"{root}/a", watch=True)) is None
            assert await ask(Create(f"{root}/a", b"1")) == Created(f"{root}/a")
            sequence: Any = await ask(Create(f"{root}/a/s-", sequence=True, ephemeral=True))
            assert sequence == Created(f"{root}/a/s-0000000000")
            node: Any = await ask(GetData(f"{root}/a", watch=True))
            assert (node.data, node.stat.children, node.stat.ephemeral_owner) == (b"1", 1, 0)
            owned: Any = await ask(Exists(sequence.path))
            assert owned.ephemeral_owner == opened.session_id
            stat: Any = await ask(SetData(f"{root}/a", b"2", 0))
            assert stat.version == 1
            results: Any = await ask(
                Multi((Check(f"{root}/a", 1), Create(f"{root}/b"), SetData(f"{root}/a", b"3"), Delete(f"{root}/b")))
            )
            assert results[:2] == (None, Created(f"{root}/b"))
            assert (results[2].version, results[3]) == (2, None)
            read: Any = await ask(
                MultiRead((GetData(f"{root}/a"), GetChildren(f"{root}/a"), GetData(f"{root}/no"), GetData(root or "/")))
            )
            assert (read[0].data, read[0].stat.version) == (b"3", 2)
            assert read[1] == Children(("s-0000000000",))
            assert isinstance(read[2], NoNodeError)
            assert read[2].path == f"{root}/no"
            assert read[3].stat.children == 1
            at: Any = await bare.submit(GetData(f"{zookeeper.chroot}/a"))  # where it really is
            assert at.data == b"3"
            assert await ask(Delete(sequence.path)) is None
            assert events == [
                WatchEvent(WatchKind.CREATED, f"{root}/a"),
                WatchEvent(WatchKind.CHILDREN, root or "/"),
                WatchEvent(WatchKind.CHANGED, f"{root}/a"),
            ]

    run(main())


def test_errors_by_request_and_by_operation(zookeeper: TestZooKeeper) -> None:
    async def main() -> None:
        async with session(zookeeper.server, zookeeper) as (opened, _):
            ask = opened.submit
            await ask(Create("/a"))
            for request, error in (
                (Create("/a"), NodeExistsError),
                (Create("/no/child"), NoNodeError),
                (SetData("/a", b"", 7), BadVersionError),
                (Delete("/no"), NoNodeError),
                (GetData("/no"), NoNodeError),
                (GetChildren("/no"), NoNodeError),
            ):
                with pytest.raises(error) as raised:
                    await ask(request)
                assert raised.value.path == request.path
            results: Any = await ask(Multi((SetData("/a", b"x"), Check("/a", 7), Create("/b"))))
            assert [type(result) for result in results] == [RolledBackError, BadVersionError, RolledBackError]
            node: Any = await ask(GetData("/a"))
            assert node.stat.version == 0
            assert await ask(Exists("/b")) is None

    run(main())


def test_a_request_over_the_packet_limit_is_not_sent(zookeeper: TestZooKeeper) -> None:
    async def main() -> None:
        async with session(zookeeper.server, zookeeper) as (opened, events):
            half = b"x" * 600_000
            with pytest.raises(RequestTooBigError):
                await opened.submit(Multi((Create("/a", half), Create("/b", half))))
            with pytest.raises(RequestTooBigError):
                await opened.submit(Create("/a", half + half))
            assert await opened.submit(Create("/a", b"x" * 990_000)) == Created("/a")
            assert events == []

    run(main())
