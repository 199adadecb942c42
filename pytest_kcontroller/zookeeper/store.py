"""Store: what controller and broker do with a session. Batches, chunks, fencing, resend after loss, read-back.

One by one a client does some thousand calls a second; pipelined twice as many, multis and MultiReads of 500 twenty
times as many. So nothing here waits for a round trip per znode. MultiRead sets no watches: what is watched is read with
a watch, pipelined (reading first and watching later would lose updates).

A failed multi names only its first failing operation, and a lost answer names none: the chunk is read back in one
MultiRead and split into done (our data at the next version: this try, or one whose answer was lost), stale, and the rest,
which is sent again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from pytest_kcontroller.model.turns import Breather
from pytest_kcontroller.model.values import value
from pytest_kcontroller.seams import seam
from pytest_kcontroller.zookeeper.session import (
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
    NoChildrenForEphemeralsError,
    Node,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    ReadOp,
    Request,
    RequestTooBigError,
    RolledBackError,
    SessionEvent,
    SessionState,
    SetData,
    Stat,
    UnexpectedZkError,
    WatchEvent,
    WatchKind,
    WriteOp,
    ZkConnector,
    ZkError,
    ZkSession,
)

CHUNK_OPS = 500
CHUNK_BYTES = 512 * 1024
ROUNDS = 3
"""A chunk that others keep changing is tried so often before its operations go one by one."""
PIPELINE = 1000
"""Requests that are on the way at once."""

_OP_BYTES = 100

_Watch = tuple[str, bool]
"""A path, and whether its children are watched (else its creation, change and deletion)."""


@dataclass(frozen=True, slots=True)
class Fence:
    """The right to write as a controller: the version of /controller_epoch that the election left."""

    version: int
    path: str = "/controller_epoch"


class FencedError(Exception):
    """The fence's check failed: another controller has been elected (Kafka: ControllerMovedException, KAFKA-6082)."""


@value(frozen=True, slots=True)
class Written:
    """The write is in ZooKeeper, by this try or by an earlier one whose answer was lost. `version` after the write."""

    version: int


@value(frozen=True, slots=True)
class Stale:
    """Not written: the znode is not what the writer thought. `now` is what is there, None: no such znode."""

    now: Node | None


@dataclass(frozen=True, slots=True)
class TooBig:
    """Not written: this one operation is over ZooKeeper's packet limit."""

    path: str


WriteResult = Written | Stale | TooBig
EachOp = Create | SetData | Delete
_Chunk = list[tuple[int, EachOp]]
"""Operations with their numbers in the whole."""
_Sent = tuple[tuple[WriteOp, ...], asyncio.Future[object]]
"""A multi with its fence, and its answer."""


@seam("store.fence")
def fenced(ops: tuple[WriteOp, ...], fence: Fence) -> tuple[WriteOp, ...]:
    """The operations behind a check of the fence (KAFKA-6082): refused as a whole once the epoch has moved on."""
    return (Check(fence.path, fence.version), *ops)


class Store:
    """Reads and writes in one session. Every call raises SessionExpiredError when the session has ended."""

    def __init__(
        self,
        session: ZkSession,
        *,
        on_event: Callable[[SessionEvent], None] | None = None,
        chunk_ops: int = CHUNK_OPS,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> None:
        self.session = session
        self._on_event = on_event
        self._chunk_ops, self._chunk_bytes = chunk_ops, chunk_bytes
        self._connected = asyncio.Event()
        if session.state == SessionState.CONNECTED:
            self._connected.set()
        self._armed: dict[_Watch, Stat | None] = {}

    @classmethod
    async def open(cls, zookeeper: ZkConnector, on_event: Callable[[Store, SessionEvent], None]) -> Store:
        """A new session and its store. What the session says before this returns is in its state."""
        opened: list[Store] = []

        def listener(event: SessionEvent) -> None:
            if opened:
                opened[0].handle(event)

        store = cls(await zookeeper.open(listener), on_event=lambda event: on_event(store, event))
        opened.append(store)
        return store

    # --- events: the session's listener passes all of them through here

    def handle(self, event: SessionEvent) -> None:
        """Keeps the watches alive over a reconnection, and passes the event on to `on_event`."""
        if isinstance(event, WatchEvent):
            self._forget(event)
        elif event.state == SessionState.SUSPENDED:
            self._connected.clear()
        else:
            self._connected.set()  # also at the end: whoever waits learns from its next request
            if event.state == SessionState.CONNECTED:
                self._rearm()
        if self._on_event is not None:
            self._on_event(event)

    def _forget(self, event: WatchEvent) -> None:
        if event.kind == WatchKind.CHILDREN:
            self._armed.pop((event.path, True), None)
        else:
            self._armed.pop((event.path, False), None)
            if event.kind == WatchKind.DELETED:
                self._armed.pop((event.path, True), None)

    def _submit(self, request: Request) -> asyncio.Future[object]:
        future = self.session.submit(request)
        if isinstance(request, Exists | GetData | GetChildren) and request.watch:
            future.add_done_callback(partial(self._arm, request))
        return future

    def _arm(self, request: Exists | GetData | GetChildren, future: asyncio.Future[object]) -> None:
        """In the reply's own place among the events, not when its reader runs: a loss may come between the two."""
        if not future.cancelled() and future.exception() is None:
            self._armed[request.path, isinstance(request, GetChildren)] = _stat_of(future.result())

    def _rearm(self) -> None:
        """Watches are gone with the connection: read again with a watch, and tell what has changed meanwhile.

        Sent before `on_event` hears of the connection, and compared with what was seen before the loss, so that what others
        read in between hides nothing.
        """
        for path, children in sorted(self._armed):
            request: Request = GetChildren(path, watch=True) if children else Exists(path, watch=True)
            done = partial(self._rearmed, (path, children), self._armed[path, children])
            self.session.submit(request).add_done_callback(done)

    def _rearmed(self, watch: _Watch, before: Stat | None, future: asyncio.Future[object]) -> None:
        if watch not in self._armed or future.cancelled():  # it has fired since
            return
        failure = future.exception()
        if failure is not None and not isinstance(failure, NoNodeError):
            return  # lost again: the next connection finds it in _armed as it was
        now = None if failure is not None else _stat_of(future.result())
        self._armed[watch] = now
        path, children = watch
        if (kind := _change(before, now, children)) is not None:
            self.handle(WatchEvent(kind, path))

    # --- reads

    async def get(self, path: str, *, watch: bool = False) -> Node | None:
        """None: no such znode; with `watch` its creation is then watched."""
        return (await (self.get_watched([path]) if watch else self.get_many([path])))[0]

    async def exists(self, path: str, *, watch: bool = False) -> Stat | None:
        (answer,) = await self._pipelined([Exists(path, watch)])
        return answer if isinstance(answer, Stat) else None

    async def children(self, path: str, *, watch: bool = False) -> Children | None:
        """None: no such znode, and then no watch either."""
        (answer,) = await self._pipelined([GetChildren(path, watch)])
        return answer if isinstance(answer, Children) else None

    async def get_many(self, paths: Sequence[str]) -> list[Node | None]:
        """MultiRead, in chunks; in the order of `paths`."""
        found = await self._read_many(GetData, paths)
        return [result if type(result) is Node else _no_node(result) for result in found]

    async def children_of(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """The names of the children of each, without watches, as `get_many`; None: no such znode."""
        found = await self._read_many(GetChildren, paths)
        return [result.names if isinstance(result, Children) else _no_node(result) for result in found]

    async def _read_many(self, read: Callable[[str], ReadOp], paths: Sequence[str]) -> list[object]:
        step = self._chunk_ops
        chunks = [MultiRead(tuple(map(read, paths[at : at + step]))) for at in range(0, len(paths), step)]
        return [one for answer in await self._pipelined(chunks) for one in cast("tuple[object, ...]", answer)]

    async def get_watched(self, paths: Sequence[str]) -> list[Node | None]:
        """Pipelined get-with-watch, in the order of `paths`; the creation of a missing znode is watched."""
        nodes: list[Node | None] = [None] * len(paths)
        wanted = list(range(len(paths)))
        while wanted:
            missing: list[int] = []
            answers = await self._pipelined([GetData(paths[number], watch=True) for number in wanted])
            for number, answer in zip(wanted, answers, strict=True):
                if isinstance(answer, Node):
                    nodes[number] = answer
                else:
                    missing.append(number)
            stats = await self._pipelined([Exists(paths[number], watch=True) for number in missing])
            # What was made in between can be read now.
            wanted = [number for number, stat in zip(missing, stats, strict=True) if isinstance(stat, Stat)]
        return nodes

    # --- writes

    async def write_all(self, ops: Sequence[WriteOp], *, fence: Fence | None = None) -> tuple[object, ...]:
        """One multi, all or nothing; a result per operation of `ops`, as session.Multi's.

        Raises FencedError, or the ZkError of the operation that failed. After a lost answer ConnectionLossError: only the
        caller knows what proves that its write went through.
        """
        sent = tuple(ops) if fence is None else fenced(tuple(ops), fence)
        await self._connected.wait()
        answer = cast("tuple[object, ...]", await self.session.submit(Multi(sent)))
        results = _own(answer, sent, ops, fence)
        for result in results:
            if isinstance(result, ZkError) and not isinstance(result, RolledBackError):
                raise result
        return results

    async def write_each(self, ops: Sequence[EachOp], *, fence: Fence) -> list[WriteResult]:
        """Independent writes in fenced multis of at most `chunk_ops` operations and `chunk_bytes`; a result per operation.

        A write is conditional: a Create wants no znode there, a SetData or Delete the version that it names. A Delete is
        Written(-1) when the znode is gone. A Create without a parent or below an ephemeral, and a Delete of a znode with
        children, are Stale. An operation that is too big for ZooKeeper is TooBig, for itself only. Not for sequence znodes:
        after a lost answer nobody knows their names.

        Raises FencedError: then some chunks may have been written before the fence closed, as with Kafka, whose batch is not
        one transaction either; and UnexpectedZkError.
        """
        results: dict[int, WriteResult] = {}
        breather, chunks, answers = Breather(), list[_Chunk](), list[_Sent]()
        for chunk in _chunks(ops, self._chunk_ops, self._chunk_bytes):
            chunks.append(chunk)
            answers.append(self._send(chunk, fence))
            await breather.after(len(chunk))
        fence_closed = False
        for chunk, answer in zip(chunks, answers, strict=True):
            try:
                await self._settle(chunk, answer, fence, results, ROUNDS)
            except FencedError:
                fence_closed = True  # the answers of the other chunks are still awaited: nothing is left flying
        if fence_closed:
            raise FencedError(f"{fence.path} is past version {fence.version}")
        return [results[number] for number in range(len(ops))]

    async def ensure_paths(self, paths: Sequence[str]) -> None:
        """Creates persistent znodes and their parents, empty, where they are missing (unfenced).

        Raises NoNodeError if there is no root: the session's chroot does not exist.
        """
        wanted = {
            "/".join(parts[:depth]): None
            for path in paths
            for parts in [path.split("/")]
            for depth in range(2, len(parts) + 1)
        }
        creates = [Create(path) for path in sorted(wanted)]
        # A connection that breaks in the middle can take a parent and leave its child: then the child has no parent yet.
        for last in (False, True):
            missing = [answer for answer in await self._pipelined(creates) if isinstance(answer, NoNodeError)]
            if not missing:
                return
            if last:
                raise missing[0]

    # --- how a chunk is settled

    def _send(self, chunk: _Chunk, fence: Fence) -> _Sent:
        sent = fenced(tuple(op for _, op in chunk), fence)
        return sent, self.session.submit(Multi(sent))

    async def _settle(
        self,
        chunk: _Chunk,
        sent: _Sent,
        fence: Fence,
        results: dict[int, WriteResult],
        rounds: int,
    ) -> None:
        """Until every operation of the chunk has its result."""
        while True:
            own: tuple[object, ...] = ()
            try:
                answer = cast("tuple[object, ...]", await sent[1])
                own = _own(answer, sent[0], [op for _, op in chunk], fence)
                rounds -= 1
            except ConnectionLossError:
                await self._connected.wait()
            except RequestTooBigError:
                if len(chunk) > 1:
                    return await self._one_by_one(chunk, fence, results)
                results[chunk[0][0]] = TooBig(chunk[0][1].path)
                return None
            if own and not _failed(own):
                for (number, _), result in zip(chunk, own, strict=True):
                    results[number] = _written(result)
                return None
            chunk = await self._read_back(chunk, own, results)
            if not chunk:
                return None
            if rounds <= 0 and len(chunk) > 1:
                return await self._one_by_one(chunk, fence, results)
            sent = self._send(chunk, fence)

    async def _one_by_one(self, chunk: _Chunk, fence: Fence, results: dict[int, WriteResult]) -> None:
        """A multi for each, all on their way at once."""
        singles = [[numbered] for numbered in chunk]
        for single, sent in zip(singles, [self._send(single, fence) for single in singles], strict=True):
            await self._settle(single, sent, fence, results, 0)

    async def _read_back(self, chunk: _Chunk, own: tuple[object, ...], results: dict[int, WriteResult]) -> _Chunk:
        """Fills in what is decided; returns what can be sent again. `own`: what the failed multi said, () if nothing."""
        rest = []
        nodes = await self.get_many([op.path for _, op in chunk])
        for (number, op), node, refused in zip(chunk, nodes, own or [None] * len(chunk), strict=True):
            outcome = _outcome(op, node) or _refusal(op, node, refused)
            if outcome is None:
                rest.append((number, op))
            else:
                results[number] = outcome
        return rest

    # --- pipelining

    async def _pipelined(self, requests: Sequence[Request]) -> list[object]:
        """Answers in order; a NoNode or NodeExists error is an answer; what a lost connection took is sent again."""
        answers: list[object] = [None] * len(requests)
        for at in range(0, len(requests), PIPELINE):
            wanted = list(range(at, min(at + PIPELINE, len(requests))))
            while wanted:
                wanted = await self._round(requests, wanted, answers)
        return answers

    async def _round(self, requests: Sequence[Request], wanted: list[int], answers: list[object]) -> list[int]:
        """Fills in the answers; returns, once there is a connection again, the numbers of those that were lost."""
        lost = []
        breather, futures = Breather(), list[asyncio.Future[object]]()
        for number in wanted:
            request = requests[number]
            futures.append(self._submit(request))
            await breather.after(len(request.reads) if isinstance(request, MultiRead) else 1)
        for number, future in zip(wanted, futures, strict=True):
            try:
                answers[number] = await future
            except (NoNodeError, NodeExistsError) as refused:
                answers[number] = refused
            except ConnectionLossError:
                lost.append(number)
        if lost:
            await self._connected.wait()
        return lost


def _chunks(ops: Sequence[EachOp], max_ops: int, max_bytes: int) -> Iterable[_Chunk]:
    """In order, each as long as it may be; an operation over `max_bytes` is a chunk of its own."""
    chunk: _Chunk = []
    size = 0
    for number, op in enumerate(ops):
        weight = len(op.path.encode()) + (0 if isinstance(op, Delete) else len(op.data)) + _OP_BYTES
        if chunk and (len(chunk) >= max_ops or size + weight > max_bytes):
            yield chunk
            chunk, size = [], 0
        chunk.append((number, op))
        size += weight
    if chunk:
        yield chunk


def _own(
    answer: tuple[object, ...], sent: tuple[WriteOp, ...], ops: Sequence[WriteOp], fence: Fence | None
) -> tuple[object, ...]:
    """The results of `ops`, without that of the fence's check if one was in front. Raises FencedError if it failed."""
    extra = len(sent) - len(ops)
    if fence is not None and extra and isinstance(answer[0], BadVersionError | NoNodeError):
        raise FencedError(f"{fence.path} is past version {fence.version}")
    return answer[extra:]


def _no_node(result: object) -> Any:
    """None for a NoNodeError. Raises any other error."""
    if isinstance(result, ZkError) and not isinstance(result, NoNodeError):
        raise result
    return None


def _failed(results: tuple[object, ...]) -> bool:
    """Looks at the few types of the results instead of at each of them."""
    return any(issubclass(kind, ZkError) for kind in dict.fromkeys(map(type, results)))


def _written(result: object) -> Written:
    """By what ZooKeeper answered to an operation that was done."""
    if type(result) is Stat:
        return Written(result.version)
    return _CREATED if type(result) is Created else _DELETED


_CREATED, _DELETED = Written(0), Written(-1)


def _outcome(op: EachOp, node: Node | None) -> WriteResult | None:
    """What a znode that was read back says of an operation; None: it can be sent again."""
    match op:
        case Create(data=data):
            if node is None:
                return None
            return Written(0) if node.stat.version == 0 and node.data == data else Stale(node)
        case SetData(data=data, version=version):
            if node is None:
                return Stale(None)
            if node.stat.version == version or version < 0:
                return None
            done = node.stat.version == version + 1 and node.data == data
            return Written(node.stat.version) if done else Stale(node)
        case Delete(version=version):
            if node is None:
                return Written(-1)
            return None if version in (-1, node.stat.version) else Stale(node)


def _refusal(op: EachOp, node: Node | None, refused: object) -> WriteResult | None:
    """What ZooKeeper said of an operation although its znode is as the writer thought; None: that has passed, try again.

    Raises what sending again does not help against (UnexpectedZkError).
    """
    if isinstance(refused, UnexpectedZkError):
        raise refused
    no_parent = isinstance(op, Create) and isinstance(refused, NoNodeError | NoChildrenForEphemeralsError)
    return Stale(node) if no_parent or isinstance(refused, NotEmptyError) else None


def _stat_of(answer: object) -> Stat | None:
    """Of the answer to Exists, GetData or GetChildren."""
    if isinstance(answer, Node | Children):
        return answer.stat
    return answer if isinstance(answer, Stat) else None


def _change(before: Stat | None, now: Stat | None, children: bool) -> WatchKind | None:
    """The event that the lost watch would have fired, as ZooKeeper's SetWatches decides it."""
    if before is None or now is None:
        if before is now:
            return None
        return WatchKind.CREATED if before is None else WatchKind.DELETED
    if children:
        same = (before.czxid, before.pzxid, before.cversion) == (now.czxid, now.pzxid, now.cversion)
        return None if same else WatchKind.CHILDREN
    return None if before.mzxid == now.mzxid else WatchKind.CHANGED
