"""ZkSession on a simulated server: the client's end.

It behaves as the adapter on kazoo does: after a loss the state comes first and then the failures of the requests that it
took; watches are not set again; requests made meanwhile wait; it looks for the server until it is told that the session
has expired.
"""

from __future__ import annotations

import asyncio
from collections import deque

from pytest_kcontroller.runtime.scheduler import SimLoop
from pytest_kcontroller.sim.zookeeper.link import Connection, Pipe, ZkLink
from pytest_kcontroller.sim.zookeeper.server import SimZooKeeper
from pytest_kcontroller.zookeeper.request_size import MAX_REQUEST_BYTES, path_of, size_of
from pytest_kcontroller.zookeeper.session import (
    CLOSE_GRACE_S,
    ConnectionLossError,
    Listener,
    Request,
    RequestTooBigError,
    SessionExpiredError,
    SessionState,
    StateEvent,
    WatchEvent,
    WatchKind,
    ZkError,
)

RETRY_US = (50_000, 200_000)
"""Between two attempts to connect, drawn."""

_ENDED = (SessionState.EXPIRED, SessionState.CLOSED)


class SimConnector:
    """Opens the sessions of one process, over the link of that name. See ZkConnector."""

    def __init__(
        self, server: SimZooKeeper, loop: SimLoop, *, timeout_ms: int, chroot: str = "", link: str | None = None
    ) -> None:
        self._server, self._loop, self._timeout_ms, self._chroot = server, loop, timeout_ms, chroot
        self._link = server.link(link or loop.name)

    async def open(self, listener: Listener) -> SimSession:
        """See ZkConnector. `listener` gets no event for the connection that this call waits for."""
        session = SimSession(self._link, self._loop, self._timeout_ms, self._chroot, listener)
        try:
            await session.connected()
        except BaseException:
            session.abandon()
            raise
        return session


class SimSession:
    """See ZkSession."""

    def __init__(self, link: ZkLink, loop: SimLoop, timeout_ms: int, chroot: str, listener: Listener) -> None:
        self._link, self._loop, self._now = link, loop, loop.scheduler
        self._chroot, self._listener = chroot, listener
        self._asked_ms = timeout_ms
        self._session_id, self._password, self._timeout_ms = 0, b"", 0
        self._state: SessionState | None = None
        self._closing = False
        self._last_zxid = 0
        self.connection: Connection | None = None
        self._ready = False
        """The handshake is done: requests can be sent."""
        self._xid = 0
        self._heard_us, self._unanswered_us = 0, -1
        """When anything was heard last; when a ping was sent last whose answer comes after the next one is due, if ever."""
        self._requests: deque[tuple[Request, asyncio.Future[object]]] = deque()
        """Without an answer, oldest first: on their way or, while there is no connection, waiting."""
        self._ping_timer: asyncio.TimerHandle | None = None
        self._first: asyncio.Future[None] = loop.create_future()
        self._end: asyncio.Future[None] = loop.create_future()
        self.inbox = Pipe(loop)
        self._connect()

    # --- the port

    @property
    def session_id(self) -> int:
        return self._session_id

    @property
    def password(self) -> bytes:
        return self._password

    @property
    def timeout_ms(self) -> int:
        return self._timeout_ms

    @property
    def state(self) -> SessionState:
        return self._state or SessionState.SUSPENDED

    @property
    def last_zxid(self) -> int:
        return self._last_zxid

    def submit(self, request: Request) -> asyncio.Future[object]:
        future: asyncio.Future[object] = self._loop.create_future()
        if self._closing or self._state in _ENDED:
            _fail(future, SessionExpiredError(path_of(request)))
        elif size_of(request, self._chroot) > MAX_REQUEST_BYTES:
            _fail(future, RequestTooBigError(path_of(request)))
        else:
            self._requests.append((request, future))
            if self._ready:
                self._send(request)
        return future

    def _send(self, request: Request | None) -> None:
        assert self.connection is not None
        self._xid += 1
        self.connection.send(request, self._xid)

    async def close(self) -> None:
        """See ZkSession."""
        self.abandon()
        await asyncio.shield(self._end)

    # --- its life

    @property
    def alive(self) -> bool:
        """Whether its process is."""
        return self._loop.alive

    async def connected(self) -> None:
        await self._first

    def abandon(self) -> None:
        """Closes in the background."""
        if self._closing:
            return
        self._closing = True
        if self._end.done():
            return
        if self._ready:
            self._send(None)
            self._loop.call_at((self._now.now_us + round(CLOSE_GRACE_S * 1e6)) / 1e6, self._give_up)
        else:
            self._give_up()

    def _give_up(self) -> None:
        if not self._end.done():
            self._disconnect()
            self.inbox.break_off()
            self.inbox.send(0, self._finish, SessionState.CLOSED)

    def _connect(self) -> None:
        """Until there is a connection or the session has ended."""
        if self._closing or self._state in _ENDED or self.connection is not None:
            return
        self.connection = self._link.connect(self, self._chroot)
        if self.connection is None:
            self._retry()
        else:
            self.connection.shake_hands(self._session_id, self._password, self._asked_ms)
            self._loop.call_at(
                (self._now.now_us + self._asked_ms * 1000) / 1e6, self._give_up_handshake, self.connection
            )

    def _give_up_handshake(self, connection: Connection) -> None:
        """On a link so slow that no answer can come in time. The server never sees it: a proxy drops what it still has of a
        connection that is closed."""
        late_us = self._link.usual_us("upstream") + self._link.usual_us("downstream")
        if connection is self.connection and not self._ready and late_us >= self._asked_ms * 1000:
            connection.break_off(arriving=0, heard=0)

    def _retry(self) -> None:
        self._loop.call_at((self._now.now_us + self._link.draw.randint(*RETRY_US)) / 1e6, self._connect)

    def _ping(self) -> None:
        """Three times in a session's time-out. No message: the server's clock of this session is set directly.

        As kazoo's client, it gives the connection up when the next ping is due and this one's answer has not come.
        """
        connection = self.connection
        if connection is None or not self._ready:
            return
        now_us, period_us = self._now.now_us, self._timeout_ms * 1000 // 3
        there_us = self._link.usual_us("upstream")
        back_us = there_us + self._link.usual_us("downstream")
        flows = connection.flows and not self._link.resets("upstream")
        if flows and there_us < 2 * period_us:
            self._link.server.touch(connection, now_us + there_us)
        if self._link.resets("upstream") or (flows and self._link.resets("downstream")):
            connection.break_off(heard=0)  # by the ping, or by its answer
            return
        if flows and not self.inbox.held and back_us < period_us:
            self._heard_us = now_us + back_us
        elif self._heard_us <= self._unanswered_us:
            connection.break_off(heard=0)
            return
        else:
            self._unanswered_us = now_us
        self._ping_timer = self._loop.call_at((now_us + period_us) / 1e6, self._ping)

    def _change(self, state: SessionState) -> None:
        if state == self._state or self._state in _ENDED:
            return
        self._state = state
        if self._first.done():
            self._listener(StateEvent(state))
        elif state == SessionState.CONNECTED:
            self._first.set_result(None)

    # --- what arrives

    def on_connected(self, connection: Connection, session_id: int, password: bytes, timeout_ms: int) -> None:
        if connection is not self.connection:
            return
        self._session_id, self._password, self._timeout_ms = session_id, password, timeout_ms
        self._ready, self._heard_us = True, self._now.now_us
        self._xid = 0
        for request, _ in self._requests:
            self._send(request)
        self._ping_timer = self._loop.call_at((self._now.now_us + timeout_ms * 1000 // 3) / 1e6, self._ping)
        self._change(SessionState.CONNECTED)

    def on_expired(self) -> None:
        self._finish(SessionState.EXPIRED)

    def on_closed(self) -> None:
        self._finish(SessionState.CLOSED)

    def on_reply(self, answer: object, zxid: int) -> None:
        """`zxid`: the newest transaction of the server that made it."""
        self._heard_us, self._last_zxid = self._now.now_us, zxid
        _, future = self._requests.popleft()
        if isinstance(answer, ZkError):
            _fail(future, answer)
        elif not future.done():
            future.set_result(answer)

    def on_watch(self, kind: WatchKind, path: str) -> None:
        self._heard_us = self._now.now_us
        if not self._closing:  # kazoo is deaf then, also for what closing itself deletes
            self._listener(WatchEvent(kind, path))

    def on_loss(self, connection: Connection) -> None:
        """The state first, then the failures of the requests that the connection took along, each in its turn."""
        if connection is not self.connection:
            return
        was_ready = self._ready
        self._disconnect()
        if self._closing:
            self._finish(SessionState.CLOSED)
            return
        if was_ready:
            lost, self._requests = self._requests, deque()
            for request, future in lost:
                self.inbox.send(0, _fail, future, ConnectionLossError(path_of(request)))
        self._retry()
        self._change(SessionState.SUSPENDED)

    def _disconnect(self) -> None:
        connection, self.connection, self._ready = self.connection, None, False
        if self._ping_timer is not None:
            self._ping_timer.cancel()
        if connection is not None:
            connection.abandon()
            self.inbox.release()  # only its own are in it now, and a hold is of the way

    def _finish(self, state: SessionState) -> None:
        if self._end.done():
            return
        self._disconnect()
        self._end.set_result(None)
        self._change(state)
        while self._requests:
            request, future = self._requests.popleft()
            _fail(future, SessionExpiredError(path_of(request)))


def _fail(future: asyncio.Future[object], error: ZkError) -> None:
    if not future.done():
        future.set_exception(error)
        future.exception()  # nobody need ask: asyncio would log each request that a lost session takes along
