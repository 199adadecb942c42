"""ZkSession on kazoo.

kazoo reads the socket in one thread and hands replies and watch events to two other threads, so that a reply can overtake
the watch event that ZooKeeper sent before it. Here the reading thread itself posts everything into one FIFO in the order of
the wire, which the loop empties one by one: replies through `_Reply`, watch events through `_Handler`, states through the
listener (kazoo calls it in the reading thread).

kazoo opens a new session by itself after an expiry; a request could then land in a session that nobody asked for. Here the
client is stopped in the very callback that reports the expiry, so one KazooSession is one session for ever.

When the connection is lost, the state comes first and then the failures of the requests that it took (those in the queue
too, as ZooKeeper's own client does: a later request must not be done while an earlier one is lost).
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss, KazooException
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol import serialization as jute
from kazoo.protocol.connection import ConnectionHandler
from kazoo.protocol.states import EventType, KazooState, KeeperState, WatchedEvent, ZnodeStat
from kazoo.retry import KazooRetry
from kazoo.security import OPEN_ACL_UNSAFE

from pytest_kcontroller.zookeeper import session as port
from pytest_kcontroller.zookeeper.session import SessionState, StateEvent, WatchEvent, WatchKind, ZkError

MAX_REQUEST_BYTES = 1_000_000
"""ZooKeeper's own limit is 1,048,575 with its headers (jute.maxbuffer); it closes the connection over a larger request."""

_HEADERS_BYTES = 100
"""More than what an operation takes besides its path and data."""

CLOSE_GRACE_S = 1.0
"""A closing session that gets no answer (a cut link, a paused server) is given up after this; ZooKeeper expires it later."""

_log = logging.getLogger(__name__)
logging.getLogger("kazoo").addHandler(logging.NullHandler())  # else Python prints each of its warnings to stderr

_ERRORS: dict[int, type[ZkError]] = {
    kind.code: kind
    for kind in (
        port.RolledBackError,
        port.ConnectionLossError,
        port.NoNodeError,
        port.BadVersionError,
        port.NoChildrenForEphemeralsError,
        port.NodeExistsError,
        port.NotEmptyError,
        port.SessionExpiredError,
    )
}
# What kazoo says when *we* have closed the client, and the code of an operation before the failed one of a multi.
_ERRORS |= {-116: port.SessionExpiredError, 0: port.RolledBackError}

_KINDS = {
    EventType.CREATED: WatchKind.CREATED,
    EventType.DELETED: WatchKind.DELETED,
    EventType.CHANGED: WatchKind.CHANGED,
    EventType.CHILD: WatchKind.CHILDREN,
}

_READ_TYPES = (jute.GetData.type, jute.GetChildren.type)


class KazooConnector:
    """Opens sessions at `hosts` (HOST:PORT[,HOST:PORT][/chroot]), asking for `timeout_ms`."""

    def __init__(self, hosts: str, *, timeout_ms: int) -> None:
        self._hosts, self._timeout_ms = hosts, timeout_ms

    async def open(self, listener: port.Listener) -> KazooSession:
        """See ZkConnector. `listener` gets no event for the connection that this call waits for."""
        session = KazooSession(self._hosts, self._timeout_ms, listener)
        try:
            await session.connected()
        except BaseException:
            session.abandon()
            raise
        return session


class KazooSession:
    """See ZkSession."""

    def __init__(self, hosts: str, timeout_ms: int, listener: port.Listener) -> None:
        self._loop = asyncio.get_running_loop()
        self._listener = listener
        self._state: SessionState | None = None
        self._closing = False
        self._give_up: asyncio.TimerHandle | None = None
        self._inbox: deque[tuple[Callable[..., object], tuple[object, ...]]] = deque()
        self._draining, self._posting = False, threading.Lock()
        self._outstanding: dict[int, _Reply] = {}
        self._submitted = 0
        self._first = self._loop.create_future()
        self._ended = self._loop.create_future()
        self._handler = _Handler(self._post)
        self._last_watch: WatchedEvent | None = None
        self._client = _Client(
            self._on_loss,
            hosts=hosts,
            timeout=timeout_ms / 1000,
            handler=self._handler,
            connection_retry=KazooRetry(max_tries=-1, delay=0.05, backoff=1.5, max_delay=0.2, max_jitter=0.2),
        )
        self._chroot = self._client.chroot
        self._connection = _Connection(self._client, self._end_of_thread)
        self._client._connection = self._connection
        self._client.add_listener(self._on_state)
        self._client.start_async()

    # --- the port

    @property
    def session_id(self) -> int:
        return self._connection.session_id

    @property
    def password(self) -> bytes:
        return self._connection.password

    @property
    def timeout_ms(self) -> int:
        return self._connection.timeout_ms

    @property
    def state(self) -> SessionState:
        return self._state or SessionState.SUSPENDED

    def submit(self, request: port.Request) -> asyncio.Future[object]:
        future: asyncio.Future[object] = self._loop.create_future()
        if self._closing or self._state in (SessionState.EXPIRED, SessionState.CLOSED):
            return _failed(future, port.SessionExpiredError(_path(request)))
        if _size(request, self._chroot) > MAX_REQUEST_BYTES:
            return _failed(future, port.RequestTooBigError(_path(request)))
        self._submitted += 1
        reply = _Reply(self, self._submitted, request, future)
        self._outstanding[self._submitted] = reply
        # KazooClient._call without its checks: whatever a thread that is ending leaves in the queue, _conclude fails.
        self._client._queue.append((_encode(request, self._chroot, self._on_watch), reply))
        self._connection.wake()
        return future

    async def close(self) -> None:
        """See ZkSession. Without an answer, CLOSED comes after CLOSE_GRACE_S and ZooKeeper expires the session later."""
        self.abandon()
        await asyncio.shield(self._ended)

    # --- its life

    async def connected(self) -> None:
        await self._first

    def abandon(self) -> None:
        """Closes in the background. What KazooClient.stop does, without its wait for the reading thread."""
        if self._closing:
            return
        self._closing = True
        self._client._stopped.set()
        self._client._queue.append((jute.CloseInstance, None))
        self._connection.wake()
        if not self._ended.done():
            self._give_up = self._loop.call_later(CLOSE_GRACE_S, self._hang_up)

    def _hang_up(self) -> None:
        """The reading thread may still wait for a host that does not answer; nothing that it says counts any more."""
        self._connection.hang_up()
        self._conclude()

    def _on_loss(self) -> None:
        """In the reading thread, before the requests that were on the way are failed."""
        self._post(self._change, SessionState.SUSPENDED)

    def _on_state(self, state: KazooState) -> None:
        """In the reading thread."""
        if state == KazooState.CONNECTED:
            self._post(self._change, SessionState.CONNECTED)
        elif self._client._state == KeeperState.EXPIRED_SESSION:
            self._client._stopped.set()
            self._post(self._change, SessionState.EXPIRED)

    def _change(self, state: SessionState) -> None:
        if state == self._state or self._state in (SessionState.EXPIRED, SessionState.CLOSED):
            return
        self._state = state
        if not self._first.done():
            if state == SessionState.CONNECTED:
                self._first.set_result(None)
            return
        self._listener(StateEvent(state))

    def _end_of_thread(self) -> None:
        """In the reading thread, as its last act."""
        self._client.close()
        self._post(self._conclude)

    def _conclude(self) -> None:
        if self._give_up is not None:
            self._give_up.cancel()
        self._change(SessionState.CLOSED)
        for number in list(self._outstanding):
            self._outstanding[number].fail(port.SessionExpiredError())
        if not self._ended.done():
            self._ended.set_result(None)

    # --- what the reading thread posts

    def _post(self, call: Callable[..., object], *args: object) -> None:
        """In the reading thread."""
        with self._posting:
            self._inbox.append((call, args))
            if self._draining:
                return
            self._draining = True
        try:
            self._loop.call_soon_threadsafe(self._drain)
        except RuntimeError:
            _log.debug("the loop is closed: nobody waits for %r any more", call)

    def _drain(self) -> None:
        """Delivers one thing. Whoever awaits it runs before the next: two replies completed in one turn of the loop would
        let the reader of the first see the second before a watch event that came between them."""
        call, args = self._inbox.popleft()
        try:
            call(*args)
        finally:
            with self._posting:
                self._draining = bool(self._inbox)
            if self._draining:
                self._loop.call_soon(self._drain)

    def _on_watch(self, event: WatchedEvent) -> None:
        if event is self._last_watch:
            return  # kazoo tells the data and the child watches of a deleted znode one after the other
        self._last_watch = event
        if (kind := _KINDS.get(event.type)) is not None:  # NONE: kazoo has forgotten its watches
            self._listener(WatchEvent(kind, event.path))


class _Handler(SequentialThreadingHandler):  # type: ignore[misc]
    """Starts no threads for callbacks: a watch event is posted by the thread that read it."""

    def __init__(self, post: Callable[..., None]) -> None:
        super().__init__()
        self._post = post

    def start(self) -> None:
        self._running = True

    def stop(self) -> None:
        self._running = False

    def dispatch_callback(self, callback: Any) -> None:
        self._post(callback.func, *callback.args)


class _Client(KazooClient):  # type: ignore[misc]
    """Tells of a loss, then fails the requests that were on the way or queued when it happened, and only those.

    kazoo tells afterwards, and empties its queue while the loop fills it again in answer to the first failures.
    """

    def __init__(self, lost: Callable[[], None], **settings: Any) -> None:
        self._tell_loss = lost
        super().__init__(**settings)

    def _notify_pending(self, state: str) -> None:
        if state != KeeperState.CONNECTING:
            super()._notify_pending(state)
            return
        taken = []
        for queue in (self._pending, self._queue):
            while queue:
                taken.append(queue.popleft()[1])
        self._tell_loss()
        for reply in taken:
            if reply is not None:
                reply.set_exception(ConnectionLoss())


class _Connection(ConnectionHandler):  # type: ignore[misc]
    """Keeps what the handshake says (kazoo shows the time-out that was asked for) and tells when its thread ends.

    kazoo wakes its thread by one byte per request through a blocking pipe. While there is no connection nobody reads it, and
    after some 280 requests the loop would stand still. Here there is at most one byte in the pipe: one is there if and only
    if `_awake`, and as long as the queue is not empty.
    """

    def __init__(self, client: KazooClient, ended: Callable[[], None]) -> None:
        super().__init__(client, client._conn_retry.copy(), logger=client.logger)
        self.session_id, self.password, self.timeout_ms = 0, b"", 0
        self._tell_end = ended
        self._awake, self._waking = False, threading.Lock()

    def wake(self) -> None:
        """In the loop, after a request was queued."""
        with self._waking:
            if not self._awake:
                self._put_byte()

    def _send_request(self, read_timeout: float, connect_timeout: float) -> None:
        super()._send_request(read_timeout, connect_timeout)  # takes one request and the byte
        with self._waking:
            self._awake = False
            if self.client._queue:
                self._put_byte()

    def _put_byte(self) -> None:
        try:
            self._write_sock.send(b"\0")
            self._awake = True
        except (OSError, AttributeError):
            _log.debug("the connection has ended")

    def hang_up(self) -> None:
        """In the loop: ends whatever the reading thread waits for on its socket."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except (OSError, AttributeError):
            _log.debug("there is no connection to end")

    def _invoke(self, timeout: float, request: Any, xid: int | None = None) -> Any:
        answer = super()._invoke(timeout, request, xid)
        if isinstance(request, jute.Connect) and answer[0].time_out > 0:
            said = answer[0]
            self.session_id, self.password, self.timeout_ms = said.session_id, said.passwd, said.time_out
        return answer

    def zk_loop(self) -> None:
        try:
            super().zk_loop()
        finally:
            self._tell_end()


class _Reply:
    """What kazoo completes in its reading thread; the future is completed in the loop."""

    __slots__ = ("_future", "_number", "_request", "_session")

    def __init__(
        self, session: KazooSession, number: int, request: port.Request, future: asyncio.Future[object]
    ) -> None:
        self._session, self._number, self._request, self._future = session, number, request, future

    def set(self, value: object) -> None:
        self._session._post(self._succeed, value)

    def set_exception(self, raised: BaseException) -> None:
        self._session._post(self.fail, _error(raised, _path(self._request)))

    def _succeed(self, value: object) -> None:
        self._session._outstanding.pop(self._number, None)
        if not self._future.done():
            self._future.set_result(_decode(self._request, value, self._session._client))

    def fail(self, error: BaseException) -> None:
        self._session._outstanding.pop(self._number, None)
        if not self._future.done():
            self._future.set_exception(error)
            self._future.exception()  # nobody need ask: asyncio would log each request that a lost session takes along


class _MultiRead:
    """Opcode 22 (ZooKeeper 3.6+), which kazoo lacks. Paths are complete: kazoo adds the chroot for its own requests only."""

    type = 22

    def __init__(self, reads: tuple[Any, ...]) -> None:
        self._reads = reads

    def serialize(self) -> bytes:
        out = bytearray()
        for read in self._reads:
            out += jute.MultiHeader(read.type, False, -1).serialize() + read.serialize()
        return bytes(out + jute.multiheader_struct.pack(-1, True, -1))

    @classmethod
    def deserialize(cls, data: bytes, offset: int) -> list[object]:
        results: list[object] = []
        while True:
            header, offset = jute.MultiHeader.deserialize(data, offset)
            if header.done:
                return results
            if header.type == jute.GetData.type:
                value, offset = jute.read_buffer(data, offset)
                stat = ZnodeStat._make(jute.stat_struct.unpack_from(data, offset))
                offset += jute.stat_struct.size
                results.append((value, stat))
            elif header.type == jute.GetChildren.type:
                count = jute.int_struct.unpack_from(data, offset)[0]
                offset += jute.int_struct.size
                names = []
                for _ in range(count):
                    name, offset = jute.read_string(data, offset)
                    names.append(name)
                results.append(names)
            else:
                results.append(jute.EXCEPTIONS[jute.int_struct.unpack_from(data, offset)[0]]())
                offset += jute.int_struct.size


def _encode(request: port.Request, chroot: str, on_watch: Callable[..., None]) -> Any:
    """kazoo's request. Its field `watcher` is both the flag on the wire and what is called."""
    match request:
        case port.Exists(path, watch):
            return jute.Exists(_full(chroot, path), on_watch if watch else None)
        case port.GetData(path, watch):
            return jute.GetData(_full(chroot, path), on_watch if watch else None)
        case port.GetChildren(path, watch):
            return jute.GetChildren2(_full(chroot, path), on_watch if watch else None)
        case port.Multi(ops):
            return jute.Transaction([_encode_op(op, chroot) for op in ops])
        case port.MultiRead(reads):
            return _MultiRead(tuple(_encode_read(read, chroot) for read in reads))
        case _:
            return _encode_op(request, chroot)


def _encode_op(op: port.WriteOp, chroot: str) -> Any:
    match op:
        case port.Create(path, data, ephemeral, sequence):
            return jute.Create(_full(chroot, path), data, OPEN_ACL_UNSAFE, int(ephemeral) | (2 * int(sequence)))
        case port.SetData(path, data, version):
            return jute.SetData(_full(chroot, path), data, version)
        case port.Delete(path, version):
            return jute.Delete(_full(chroot, path), version)
        case port.Check(path, version):
            return jute.CheckVersion(_full(chroot, path), version)


def _encode_read(read: port.ReadOp, chroot: str) -> Any:
    kind = jute.GetData if isinstance(read, port.GetData) else jute.GetChildren
    return kind(_full(chroot, read.path), None)


def _decode(request: port.Request, value: Any, client: KazooClient) -> object:
    match request:
        case port.Create():
            return port.Created(client.unchroot(value))
        case port.SetData():
            return _stat(value)
        case port.Delete():
            return None
        case port.Exists():
            return None if value is None else _stat(value)
        case port.GetData():
            return _read(value)
        case port.GetChildren():
            names, stat = value
            return port.Children(tuple(sorted(names)), _stat(stat))
        case port.Multi(ops):
            return tuple(_decode_op(op, result) for op, result in zip(ops, value, strict=True))
        case port.MultiRead(reads):
            return tuple(_decode_read(read, result) for read, result in zip(reads, value, strict=True))


def _decode_op(op: port.WriteOp, result: Any) -> object:
    """kazoo has taken the chroot out of created paths."""
    if isinstance(result, BaseException):
        return _error(result, op.path)
    if isinstance(op, port.Create):
        return port.Created(result)
    return _stat(result) if isinstance(op, port.SetData) else None


def _decode_read(read: port.ReadOp, result: Any) -> object:
    if isinstance(result, BaseException):
        return _error(result, read.path)
    return _read(result) if isinstance(read, port.GetData) else port.Children(tuple(sorted(result)))


def _read(value: Any) -> port.Node:
    data, stat = value
    return port.Node(bytes(data or b""), _stat(stat))


def _stat(stat: ZnodeStat) -> port.Stat:
    return port.Stat(
        czxid=stat.czxid,
        mzxid=stat.mzxid,
        pzxid=stat.pzxid,
        ctime_ms=stat.ctime,
        mtime_ms=stat.mtime,
        version=stat.version,
        cversion=stat.cversion,
        ephemeral_owner=stat.ephemeralOwner,
        children=stat.numChildren,
    )


def _error(raised: BaseException, path: str) -> BaseException:
    if not isinstance(raised, KazooException):
        return raised
    code = getattr(raised, "code", 0)
    if (kind := _ERRORS.get(code)) is not None:
        return kind(path)
    return port.UnexpectedZkError(code, path)


def _failed(future: asyncio.Future[object], error: port.ZkError) -> asyncio.Future[object]:
    future.set_exception(error)
    future.exception()  # as in _Reply.fail
    return future


def _full(chroot: str, path: str) -> str:
    return chroot if chroot and path == "/" else chroot + path


def _path(request: port.Request) -> str:
    match request:
        case port.Multi(ops):
            return ops[-1].path if ops else ""
        case port.MultiRead(reads):
            return reads[0].path if reads else ""
        case _:
            return request.path


def _size(request: port.Request, chroot: str) -> int:
    """An upper bound of its bytes on the wire."""
    match request:
        case port.Multi(ops):
            return sum(op_size(op) + len(chroot) for op in ops)
        case port.MultiRead(reads):
            return sum(len(read.path.encode()) + len(chroot) + _HEADERS_BYTES for read in reads)
        case port.Create() | port.SetData():
            return op_size(request) + len(chroot)
        case _:
            return len(request.path.encode()) + len(chroot) + _HEADERS_BYTES


def op_size(op: port.WriteOp) -> int:
    """An upper bound of an operation's bytes inside a multi, without a chroot."""
    data = len(op.data) if isinstance(op, port.Create | port.SetData) else 0
    return len(op.path.encode()) + data + _HEADERS_BYTES
