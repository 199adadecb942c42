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
import contextlib
import logging
import socket
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol import serialization as jute
from kazoo.protocol.connection import ConnectionHandler
from kazoo.protocol.states import EventType, KazooState, KeeperState, WatchedEvent
from kazoo.retry import KazooRetry

from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.zookeeper import session as port
from pytest_kcontroller.zookeeper.connect_string import ConnectString
from pytest_kcontroller.zookeeper.kazoo_codec import decode_answer, encode_request, translate_error
from pytest_kcontroller.zookeeper.request_size import MAX_REQUEST_BYTES, path_of, size_of
from pytest_kcontroller.zookeeper.session import SessionState, StateEvent, WatchEvent, WatchKind

_log = logging.getLogger(__name__)
logging.getLogger("kazoo").addHandler(logging.NullHandler())  # else Python prints each of its warnings to stderr

_KINDS = {
    EventType.CREATED: WatchKind.CREATED,
    EventType.DELETED: WatchKind.DELETED,
    EventType.CHANGED: WatchKind.CHANGED,
    EventType.CHILD: WatchKind.CHILDREN,
}


class KazooConnector:
    """Opens sessions at `hosts` (HOST:PORT[,HOST:PORT][/chroot]), asking for `timeout_ms`; `makes_chroot`: if need be.
    `close_grace_s`: instead of CLOSE_GRACE_S, in seconds. `user`: USER:PASSWORD of the scheme `digest`; None: nobody's."""

    def __init__(
        self,
        hosts: str,
        *,
        timeout_ms: int,
        makes_chroot: bool = False,
        close_grace_s: float = port.CLOSE_GRACE_S,
        user: str | None = None,
    ) -> None:
        self._hosts, self._timeout_ms, self._makes_chroot = hosts, timeout_ms, makes_chroot
        self._close_grace_s, self._user = close_grace_s, user

    async def open(self, listener: port.Listener) -> KazooSession:
        """See ZkConnector. `listener` gets no event for the connection that this call waits for."""
        if self._makes_chroot:
            await self._make_chroot()
            self._makes_chroot = False
        session = KazooSession(self._hosts, self._timeout_ms, self._close_grace_s, listener, self._user)
        try:
            await session.connected()
        except BaseException:
            session.abandon()
            raise
        return session

    async def _make_chroot(self) -> None:
        """As Kafka's brokers do (KafkaZkClient.createChrootIfNecessary). Raises EnvironmentFailure: the server refuses."""
        where = ConnectString.parse(self._hosts)
        if not where.chroot:
            return
        session = KazooSession(where.hosts, self._timeout_ms, self._close_grace_s, _ignore, self._user)
        try:
            await session.connected()
            for path in where.prefixes:
                if await session.submit(port.Exists(path)) is not None:
                    continue  # to create it is refused where the parent may only be read
                with contextlib.suppress(port.NodeExistsError):
                    await session.submit(port.Create(path))
            await session.close()
        except port.ZkError as refused:
            raise EnvironmentFailure(f"the path {where.chroot} cannot be made: {refused}", where=where.hosts) from None
        finally:
            session.abandon()


def _ignore(event: port.SessionEvent) -> None:
    """Of a session that only makes a path."""


class KazooSession:
    """See ZkSession."""

    def __init__(
        self, hosts: str, timeout_ms: int, close_grace_s: float, listener: port.Listener, user: str | None = None
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._close_grace_s, self._listener = close_grace_s, listener
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
        self._last_zxid = 0
        self._client = _Client(
            self._on_loss,
            hosts=hosts,
            timeout=timeout_ms / 1000,
            handler=self._handler,
            auth_data=[] if user is None else [("digest", user)],
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

    @property
    def last_zxid(self) -> int:
        return self._last_zxid

    def submit(self, request: port.Request) -> asyncio.Future[object]:
        future: asyncio.Future[object] = self._loop.create_future()
        if self._closing or self._state in (SessionState.EXPIRED, SessionState.CLOSED):
            return _failed(future, port.SessionExpiredError(path_of(request)))
        if size_of(request, self._chroot) > MAX_REQUEST_BYTES:
            return _failed(future, port.RequestTooBigError(path_of(request)))
        self._submitted += 1
        reply = _Reply(self, self._submitted, request, future)
        self._outstanding[self._submitted] = reply
        # KazooClient._call without its checks: whatever a thread that is ending leaves in the queue, _conclude fails.
        self._client._queue.append((encode_request(request, self._chroot, self._on_watch), reply))
        self._connection.wake()
        return future

    async def close(self) -> None:
        """See ZkSession."""
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
            self._give_up = self._loop.call_later(self._close_grace_s, self._hang_up)

    def _hang_up(self) -> None:
        """The reading thread may still wait for a host that does not answer; nothing that it says counts any more."""
        self._connection.hang_up()
        self._conclude()

    def _on_loss(self) -> None:
        """In the reading thread, before the requests that were on the way are failed."""
        self._post(self._change, SessionState.SUSPENDED)

    def _on_state(self, state: str) -> None:
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
        try:
            self._change(SessionState.CLOSED)
        finally:  # the listener may raise, and somebody waits
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


class _Handler(SequentialThreadingHandler):
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


class _Client(KazooClient):
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


class _Connection(ConnectionHandler):
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
        if (pipe := self._write_sock) is None:
            _log.debug("the connection has ended")
            return
        try:
            pipe.send(b"\0")
            self._awake = True
        except OSError:
            _log.debug("the connection ends at this moment")

    def hang_up(self) -> None:
        """In the loop: ends whatever the reading thread waits for on its socket."""
        if (connection := self._socket) is None:
            _log.debug("there is no connection to end")
            return
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            _log.debug("the connection has ended by itself")

    def _invoke(self, timeout: float, request: Any, xid: int | None = None) -> Any:
        answer = super()._invoke(timeout, request, xid)
        if isinstance(request, jute.Connect) and answer[0].time_out > 0:
            handshake = answer[0]
            self.session_id, self.password, self.timeout_ms = handshake.session_id, handshake.passwd, handshake.time_out
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
        self._session._post(self._succeed, value, self._session._client.last_zxid)

    def set_exception(self, raised: BaseException) -> None:
        self._session._post(self.fail, translate_error(raised, path_of(self._request)))

    def _succeed(self, value: object, zxid: int) -> None:
        self._session._last_zxid = zxid
        self._session._outstanding.pop(self._number, None)
        if not self._future.done():
            self._future.set_result(decode_answer(self._request, value, self._session._client))

    def fail(self, error: BaseException) -> None:
        self._session._outstanding.pop(self._number, None)
        if not self._future.done():
            self._future.set_exception(error)
            self._future.exception()  # nobody need ask: asyncio would log each request that a lost session takes along


def _failed(future: asyncio.Future[object], error: port.ZkError) -> asyncio.Future[object]:
    future.set_exception(error)
    future.exception()  # as in _Reply.fail
    return future
