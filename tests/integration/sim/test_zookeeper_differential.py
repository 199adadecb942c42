"""The simulated ZooKeeper against the real one: the same random programs must give equal transcripts."""

from __future__ import annotations

import asyncio
import difflib
import os
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient

from kcontroller_chaos.history.txnlog import TxnLogReader
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.end_session import close_session
from pytest_kcontroller.cluster.zookeeper.relay import Relay
from pytest_kcontroller.cluster.zookeeper.server import ZooKeeper
from pytest_kcontroller.cluster.zookeeper.source import start_zookeeper
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.sim.zookeeper.link import Connection
from pytest_kcontroller.sim.zookeeper.server import ServerSession, SimZooKeeper
from pytest_kcontroller.sim.zookeeper.tree import Tree, Znode, parent_of
from pytest_kcontroller.sim.zookeeper.watches import Watcher, Watches
from pytest_kcontroller.zookeeper.kazoo_session import KazooConnector
from pytest_kcontroller.zookeeper.session import (
    BadVersionError,
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Listener,
    Multi,
    MultiRead,
    NotEmptyError,
    Request,
    SetData,
    WatchKind,
    WriteOp,
    ZkError,
    ZkSession,
)
from pytest_kcontroller.zookeeper.txn import Txn
from tests.tools.zookeeper_programs import (
    CLIENTS,
    SILENT_TIMEOUT_MS,
    TIMEOUT_MS,
    Step,
    lossy_program,
    play,
    program,
    silent_program,
    simulated,
)

PROGRAMS = int(os.environ.get("KC_DIFFERENTIAL", "12"))
"""The nightly size is 500. A tenth more expire naturally, a fifth more lose connections."""
LIMIT_S = 30
OPCODES = {Create: 1, Delete: 2, Exists: 3, GetData: 4, SetData: 5, GetChildren: 12, Multi: 14, MultiRead: 22}


class RealServer:
    """One program's root on the real server."""

    def __init__(self, address: Address, log: TxnLogReader, root: str, timeout_ms: int) -> None:
        self._address, self._log, self._root, self._timeout_ms = address, log, root, timeout_ms
        self._relays: dict[str, Relay] = {}

    async def open(self, client: str, listener: Listener) -> ZkSession:
        address = self._address
        if self._timeout_ms == SILENT_TIMEOUT_MS:
            if client in self._relays:
                await self._relays[client].stop()
            relay = self._relays[client] = Relay(self._address)
            address = await relay.start()
        return await KazooConnector(f"{address}{self._root}", timeout_ms=self._timeout_ms).open(listener)

    async def expire(self, client: str, session: ZkSession) -> None:
        await close_session(self._address, session.session_id, session.password, timeout_s=scaled(LIMIT_S))

    def lose(self, client: str, request: Request, done: bool) -> None:
        raise AssertionError("only behind a cutting proxy")

    async def silence(self, client: str) -> None:
        self._relays[client].cut()

    async def heal(self, client: str) -> None:
        self._relays[client].heal()

    def txns(self) -> Sequence[Txn]:
        """Those since the last program."""
        return self._log.poll()

    async def stop(self) -> None:
        for relay in self._relays.values():
            await relay.stop()


Transcripts = dict[int, list[str]]


async def _on_the_real_server(image: str | None, directory: Path) -> tuple[Transcripts, Transcripts]:
    server = await start_zookeeper(image, directory / "zk", log=directory / "log")
    admin = KazooClient(str(server.address), timeout=60)
    log = TxnLogReader(server.txn_log_directory)

    async def transcript(root: str, steps: list[Step], timeout_ms: int) -> list[str]:
        admin.create(root)
        program_server = RealServer(server.address, log, root, timeout_ms)
        try:
            async with within(scaled(LIMIT_S)):
                return await play(steps, program_server)
        finally:
            await program_server.stop()

    try:
        await asyncio.get_running_loop().run_in_executor(None, admin.start, scaled(LIMIT_S))
        drawn = {seed: await transcript(f"/p{seed}", program(seed), TIMEOUT_MS) for seed in range(1, PROGRAMS + 1)}
        silent = {
            seed: await transcript(f"/s{seed}", silent_program(seed), SILENT_TIMEOUT_MS)
            for seed in range(1, max(1, PROGRAMS // 10) + 1)
        }
    finally:
        admin.stop()
        admin.close()
        await server.stop()
    return drawn, silent


@pytest.fixture(scope="module")
def both(_kc_image: str | None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Transcripts, Transcripts]:
    """The transcripts of the real server, by seed. Nobody else uses it: zxids count every transaction."""
    return asyncio.run(_on_the_real_server(_kc_image, tmp_path_factory.mktemp("differential")))


@pytest.fixture(scope="module")
def real(both: tuple[Transcripts, Transcripts]) -> Transcripts:
    return both[0]


def compare(real: Transcripts, simulate: Callable[[int], list[str]]) -> None:
    differing = {seed: lines for seed, lines in real.items() if lines != simulate(seed)}
    for seed, lines in differing.items():
        found = list(difflib.unified_diff(lines, simulate(seed), "real", "simulated", lineterm="", n=4))
        told = "\n".join(found[:40])
        pytest.fail(f"{len(differing)} of {len(real)} programs differ; seed {seed}:\n{told}", pytrace=False)


def test_transcripts_are_equal(real: Transcripts) -> None:
    assert len(real) == PROGRAMS
    compare(real, lambda seed: simulated(program(seed)))


def test_transcripts_with_sessions_that_expire_naturally_are_equal(both: tuple[Transcripts, Transcripts]) -> None:
    assert all("A: state expired" in lines and "B: state expired" in lines for lines in both[1].values())
    compare(both[1], lambda seed: simulated(silent_program(seed), timeout_ms=SILENT_TIMEOUT_MS))


class LossyServer(RealServer):
    """Each client behind a proxy that can lose a request or a reply."""

    def __init__(self, server: ZooKeeper, log: TxnLogReader, root: str, proxies: dict[str, Any]) -> None:
        super().__init__(server.address, log, root, TIMEOUT_MS)
        self._proxies = proxies

    async def open(self, client: str, listener: Listener) -> ZkSession:
        address = self._proxies[client].address
        return await KazooConnector(f"{address}{self._root}", timeout_ms=TIMEOUT_MS).open(listener)

    def lose(self, client: str, request: Request, done: bool) -> None:
        self._proxies[client].cut_at("reply" if done else "request", OPCODES[type(request)])


def test_transcripts_with_lost_connections_are_equal(
    _kc_image: str | None, tmp_path: Path, cutting_proxy: Callable[[Address], Any]
) -> None:
    async def run() -> Transcripts:
        server = await start_zookeeper(_kc_image, tmp_path / "zk", log=tmp_path / "log")
        transcripts = {}
        try:
            log = TxnLogReader(server.txn_log_directory)
            admin = await KazooConnector(str(server.address), timeout_ms=60_000).open(lambda _: None)
            for seed in range(1, max(3, PROGRAMS // 5) + 1):
                await admin.submit(Create(f"/p{seed}"))
                async with within(scaled(LIMIT_S)), AsyncExitStack() as stack:
                    proxies = {c: await stack.enter_async_context(cutting_proxy(server.address)) for c in CLIENTS}
                    lossy = LossyServer(server, log, f"/p{seed}", proxies)
                    transcripts[seed] = await play(lossy_program(seed), lossy)
            await admin.close()
        finally:
            await server.stop()
        return transcripts

    real = asyncio.run(run())
    assert sum(line.endswith("state connected") for lines in real.values() for line in lines) > len(real)
    compare(real, lambda seed: simulated(lossy_program(seed)))


# --- the comparison sees what it should: each of these servers is wrong in one thing ----------------------------------


class _OrderSwapped(SimZooKeeper):
    """The parent hears of a child before whoever waits for the child itself."""

    def _fire(self) -> None:
        self.tree.changes.reverse()
        super()._fire()


class _EventAfterReply(SimZooKeeper):
    def _fire(self) -> None:
        changes = list(self.tree.changes)
        self.tree.changes.clear()
        self.loop.call_soon(self._late, changes)

    def _late(self, changes: list[tuple[WatchKind, str]]) -> None:
        for kind, path in changes:
            self.replica.watches.fire(kind, path)


class _ExpiryWithoutEvent(SimZooKeeper):
    def _close(self, session: ServerSession, cxid: int) -> None:
        self.replica.watches, kept = Watches(), self.replica.watches
        super()._close(session, cxid)
        self.replica.watches = kept


class _RefusalTakesNoZxid(SimZooKeeper):
    def _single(self, connection: Connection, request: WriteOp, xid: int) -> object:
        before = self.zxid
        answer = super()._single(connection, request, xid)
        if isinstance(answer, ZkError):
            self.zxid = before
        return answer


class _FailedReadSetsAWatch(SimZooKeeper):
    def _read(self, connection: Connection, request: Request, xid: int) -> object:
        if isinstance(request, GetData) and request.watch:
            self.replica.watches.add(connection, connection.chroot + request.path.rstrip("/"), children=False)
        return super()._read(connection, request, xid)


class _LosesAWatch(Watches):
    """Of two who wait for the same, one is told."""

    def _take(self, path: str, *, children: bool) -> dict[Watcher, None]:
        return dict(list(super()._take(path, children=children).items())[:1])


class _FiresTwice(Watches):
    def fire(self, kind: WatchKind, path: str) -> None:
        watchers = [*self._data.get(path, ())]
        super().fire(kind, path)
        if kind == WatchKind.CHANGED:
            for watcher in watchers:
                self.add(watcher, path, children=False)


class _DeletionTellsTwice(Watches):
    def fire(self, kind: WatchKind, path: str) -> None:
        children = self._take(path, children=True) if kind == WatchKind.DELETED else {}
        super().fire(kind, path)
        for watcher in children:
            watcher.event(kind, path)


class _VersionNotChecked(Tree):
    def check_version(self, znode: Znode, version: int, path: str) -> None:
        """Everybody is right."""


class _MultiNotAtomic(Tree):
    def roll_back(self) -> None:
        self.commit()
        self.changes.clear()


class _SequenceReused(Tree):
    """Numbered by the children that are there, not by those that ever were."""

    def create(self, path: str, data: bytes, *, owner: int, sequence: bool, zxid: int, now_ms: int) -> str:
        parent = self.find(parent_of(path))
        made, there = parent.creates, len(parent.children)
        parent.creates = there
        try:
            return super().create(path, data, owner=owner, sequence=sequence, zxid=zxid, now_ms=now_ms)
        finally:
            parent.creates += made - there


class _EphemeralNotRemoved(Tree):
    def remove_ephemerals(self, session: int, *, zxid: int) -> tuple[str, ...]:
        return ()


class _WrongError(Tree):
    def delete(self, path: str, version: int, *, zxid: int) -> None:
        try:
            super().delete(path, version, zxid=zxid)
        except NotEmptyError:
            raise BadVersionError(path) from None


class _StaleCversion(Tree):
    """A deletion leaves the parent's stat as it was last read."""

    def delete(self, path: str, version: int, *, zxid: int) -> None:
        parent = self.znodes.get(parent_of(path))
        kept = parent.read() if parent is not None else None
        super().delete(path, version, zxid=zxid)
        if parent is not None:
            parent._read = kept


class _ChildrenBelowEphemerals(Tree):
    def create(self, path: str, data: bytes, *, owner: int, sequence: bool, zxid: int, now_ms: int) -> str:
        parent = self.find(parent_of(path))
        kept, parent.owner = parent.owner, 0
        try:
            return super().create(path, data, owner=owner, sequence=sequence, zxid=zxid, now_ms=now_ms)
        finally:
            parent.owner = kept


SERVERS = (_OrderSwapped, _EventAfterReply, _ExpiryWithoutEvent, _RefusalTakesNoZxid, _FailedReadSetsAWatch)
WATCHES = (_LosesAWatch, _FiresTwice, _DeletionTellsTwice)
TREES = (
    _VersionNotChecked,
    _MultiNotAtomic,
    _SequenceReused,
    _EphemeralNotRemoved,
    _WrongError,
    _StaleCversion,
    _ChildrenBelowEphemerals,
)


def _faulty() -> list[type[SimZooKeeper]]:
    return [
        *SERVERS,
        *(type(fault.__name__, (SimZooKeeper,), {"watches_type": fault}) for fault in WATCHES),
        *(type(fault.__name__, (SimZooKeeper,), {"tree_type": fault}) for fault in TREES),
    ]


@pytest.mark.parametrize("server_type", _faulty(), ids=lambda fault: fault.__name__.strip("_"))
def test_a_planted_fault_is_seen(real: Transcripts, server_type: type[SimZooKeeper]) -> None:
    assert any(simulated(program(seed), server_type) != lines for seed, lines in real.items())
