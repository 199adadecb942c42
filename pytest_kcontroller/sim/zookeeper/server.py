"""A simulated ZooKeeper server: sessions, the answers to requests, and its transaction log.

Every request is done in the moment in which it arrives, in one order for all clients, as a standalone server does it. A
watch event is sent before the reply to the write that fired it, and before every later reply on its connection.

Random programs give the same transcripts and the same transaction log here and on a real server. The port does not reach,
so there is none of it here: ACLs, quotas, containers and TTLs, persistent watches, and an ensemble that elects a leader.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.runtime.scheduler import WALL_START_MS, Scheduler
from pytest_kcontroller.sim.zookeeper.link import Connection, ZkLink
from pytest_kcontroller.sim.zookeeper.replica import READS, Follower, Replica, full_path
from pytest_kcontroller.sim.zookeeper.tree import Tree
from pytest_kcontroller.sim.zookeeper.watches import Watches
from pytest_kcontroller.zookeeper.session import (
    Create,
    Created,
    Delete,
    Multi,
    Request,
    RolledBackError,
    SetData,
    UnexpectedZkError,
    WriteOp,
    ZkError,
)
from pytest_kcontroller.zookeeper.txn import Op, Txn

TICK_MS = 200
MAX_SESSION_MS = 60_000
DELAY_US = 250
"""From a process to ZooKeeper, and back."""

FIRST_SESSION = 0x1000_0000_0000_0001


class ServerSession:
    """What the server knows of a session. `connection` is the one that it is used on, None after a loss."""

    __slots__ = ("closing", "connection", "id", "password", "timeout_ms", "touched_us")

    def __init__(self, session_id: int, timeout_ms: int, now_us: int) -> None:
        self.id, self.timeout_ms, self.touched_us = session_id, timeout_ms, now_us
        self.password = session_id.to_bytes(16, "big")
        self.connection: Connection | None = None
        self.closing = False
        """It has ended for its client; its ephemerals may still be there (`removal_delay_us`)."""


class SimZooKeeper:
    """One server. It is a process of its own (`loop`), which can be paused, stopped and started again."""

    tree_type: ClassVar[type[Tree]] = Tree
    watches_type: ClassVar[type[Watches]] = Watches

    def __init__(
        self,
        scheduler: Scheduler,
        rng: NamedRng,
        *,
        tick_ms: int = TICK_MS,
        max_session_ms: int = MAX_SESSION_MS,
        delay_us: int = DELAY_US,
        name: str = "zookeeper",
    ) -> None:
        self.scheduler, self.name = scheduler, name
        self.loop = scheduler.process(name)
        self.replica = Replica(self.tree_type(), self.watches_type())
        self.tree = self.replica.tree
        self.sessions: dict[int, ServerSession] = {}
        self.links: dict[str, ZkLink] = {}
        self.zxid = 0
        self.txns: list[tuple[int, Txn]] = []
        """The transaction log: each with its time in microseconds of the run."""
        self.followers: list[Follower] = []
        self.removal_delay_us = 0
        """So long after a session has ended its ephemerals are removed."""
        self.on_request: Callable[[str, Request, bool], None] | None = None
        """Called with the link's name, before (False) and after (True) a request is done; it may cut the link then."""
        self.on_submit: Callable[[str, Request], None] | None = None
        """Called with the link's name before a client's request leaves, which may be held by it."""
        self._rng, self._delay_us = rng, delay_us
        self._tick_ms, self._max_session_ms = tick_ms, max_session_ms
        self._last_session = FIRST_SESSION - 1
        self._handlers: dict[type[Request], Callable[[Connection, Any, int], object]] = {
            **dict.fromkeys(READS, self._read),
            Create: self._single,
            SetData: self._single,
            Delete: self._single,
            Multi: self._multi,
        }

    # --- for faults

    def link(self, name: str) -> ZkLink:
        """Of the process that is called so."""
        if (found := self.links.get(name)) is None:
            found = self.links[name] = ZkLink(self, name, self._delay_us, self._rng)
        return found

    def expire(self, session_id: int) -> None:
        """As a second client does that resumes the session and closes it: the first one loses its connection before.

        Raises KeyError if there is no such session, or it ends already.
        """
        session = self.sessions[session_id]
        if session.closing:
            raise KeyError(session_id)
        if session.connection is not None:
            session.connection.close()
        self._end(session, cxid=1)

    def stop(self) -> None:
        """Crashes the server. What it has logged stays; what was on its way to it is lost."""
        for link in self.links.values():
            link.reset(0)
        self.scheduler.kill(self.loop)

    def start(self) -> None:
        """After `stop`: sessions have their whole time again, as their clients cannot have reached the server meanwhile."""
        self.loop = self.scheduler.process(self.name)
        for session in list(self.sessions.values()):
            if session.closing:
                self._close(session, cxid=0)
            else:
                session.touched_us = self.scheduler.now_us
                self._watch_over(session)
        for follower in self.followers:
            follower.rearm()

    # --- connections

    def accept(self, connection: Connection, session_id: int, password: bytes, timeout_ms: int) -> None:
        """A handshake. Session 0: a new one."""
        if not connection.open:
            return
        if session_id == 0:
            session = self._open_session(timeout_ms)
        else:
            known = self.sessions.get(session_id)
            if known is None or known.closing or known.password != password:
                connection.link.answered(connection, refused=True)
                connection.tell(connection.client.on_expired)
                return
            session = known
            if session.connection is not None:
                session.connection.close()
            session.touched_us = self.scheduler.now_us
        session.connection, connection.session = connection, session
        connection.link.answered(connection, refused=False)
        connection.tell(connection.client.on_connected, connection, session.id, session.password, session.timeout_ms)

    def forget(self, connection: Connection) -> None:
        """It has ended, and its watches with it."""
        self.replica.watches.forget(connection)
        if connection.link.follower is not None:
            connection.link.follower.forget(connection)
        session = connection.session
        if session is not None and session.connection is connection:
            session.connection = None

    def touch(self, connection: Connection, at_us: int) -> None:
        """A ping. It is no message: nothing else would come of it."""
        if connection.session is not None:
            connection.session.touched_us = max(connection.session.touched_us, at_us)

    # --- sessions

    def _open_session(self, timeout_ms: int) -> ServerSession:
        self._last_session += 1
        granted = min(max(timeout_ms, 2 * self._tick_ms), self._max_session_ms)
        session = ServerSession(self._last_session, granted, self.scheduler.now_us)
        self.sessions[session.id] = session
        self.zxid += 1
        self._log(session.id, 0, "create-session", timeout_ms=granted)
        self._watch_over(session)
        return session

    def _watch_over(self, session: ServerSession) -> None:
        """One timer per session: when it comes it looks whether the session was heard of meanwhile."""
        expired_ms = session.touched_us // 1000 + session.timeout_ms
        due_us = (expired_ms // self._tick_ms + 1) * self._tick_ms * 1000
        if due_us > self.scheduler.now_us:
            self.loop.call_at(due_us / 1e6, self._watch_on, session)
        else:
            self._end(session, cxid=0)

    def _watch_on(self, session: ServerSession) -> None:
        if session.id in self.sessions and not session.closing:
            self._watch_over(session)

    def _end(self, session: ServerSession, cxid: int) -> None:
        session.closing = True
        if self.removal_delay_us:
            self.loop.call_later(self.removal_delay_us / 1e6, self._close, session, cxid)
            if session.connection is not None:
                session.connection.close()
        else:
            self._close(session, cxid)

    def _close(self, session: ServerSession, cxid: int) -> None:
        if self.sessions.pop(session.id, None) is None:
            return
        self.zxid += 1
        closed = self.tree.remove_ephemerals(session.id, zxid=self.zxid)
        self._log(session.id, cxid, "close-session", closed=closed)
        self._fire()
        if session.connection is not None:
            session.connection.close()

    # --- requests

    def serve(self, connection: Connection, request: Request | None, xid: int) -> None:
        """Does one request and sends its answer. None: closes the session."""
        session = connection.session
        if session is None or session.closing or session.id not in self.sessions:
            return
        if session.connection is not connection and (connection.open or session.connection is not None):
            return  # the session has moved to another connection
        session.touched_us = self.scheduler.now_us
        follower = connection.link.follower
        if follower is not None and follower.keeps(connection, request, xid):
            return
        if request is None:
            session.connection = None
            self._end(session, xid)
            connection.close_with_session()
            return
        look, was_open = self.on_request, connection.open
        if look is not None:
            look(connection.link.name, request, False)
            if was_open and not connection.open:
                return  # lost before it had its effect
        answer = self._handlers[type(request)](connection, request, xid)
        if look is not None:
            look(connection.link.name, request, True)
        if follower is not None and type(request) not in READS:
            follower.answer(connection, answer)
        else:
            zxid = self.zxid if follower is None else follower.zxid
            connection.tell(connection.client.on_reply, answer, zxid)

    def _read(self, connection: Connection, request: Request, xid: int) -> object:
        follower = connection.link.follower
        replica = self.replica if follower is None else follower.replica
        return READS[type(request)](replica, connection, request)

    def _single(self, connection: Connection, request: WriteOp, xid: int) -> object:
        session = connection.session
        assert session is not None
        self.zxid += 1
        try:
            result, op = self._apply(request, connection.chroot, session.id)
        except ZkError as refused:
            self._log(session.id, xid, "error", error=_code(refused))
            return _of_client(refused, request.path)
        self._log(session.id, xid, op.type, ops=(op,))
        self._fire()
        return result

    def _multi(self, connection: Connection, request: Multi, xid: int) -> tuple[object, ...]:
        session = connection.session
        assert session is not None
        self.zxid += 1
        results: list[object] = []
        logged: list[Op] = []
        self.tree.begin()
        for op in request.ops:
            try:
                result, entry = self._apply(op, connection.chroot, session.id)
            except ZkError as refused:
                self.tree.roll_back()
                rest = len(request.ops) - len(logged) - 1
                logged += [Op(type="error", code=_code(refused)), *[Op(type="error", code=RolledBackError.code)] * rest]
                answer: list[object] = [RolledBackError(other.path) for other in request.ops]
                answer[len(results)] = _of_client(refused, op.path)
                self._log(session.id, xid, "multi", ops=tuple(logged))
                return tuple(answer)
            results.append(result)
            logged.append(entry)
        self.tree.commit()
        self._log(session.id, xid, "multi", ops=tuple(logged))
        self._fire()
        return tuple(results)

    def _apply(self, op: WriteOp, chroot: str, session_id: int) -> tuple[object, Op]:
        """The result and what the log says. Raises ZkError."""
        path = full_path(chroot, op.path)
        if isinstance(op, SetData):
            znode = self.tree.set_data(path, op.data, op.version, zxid=self.zxid, now_ms=self._now_ms())
            return znode.read().stat, Op(type="set", path=path, data=op.data, version=znode.version)
        if isinstance(op, Create):
            owner = session_id if op.ephemeral else 0
            made = self.tree.create(
                path, op.data, owner=owner, sequence=op.sequence, zxid=self.zxid, now_ms=self._now_ms()
            )
            return Created(made[len(chroot) :] or "/", self.tree.find(made).read().stat), Op(
                type="create", path=made, data=op.data, version=0, ephemeral=op.ephemeral
            )
        if isinstance(op, Delete):
            self.tree.delete(path, op.version, zxid=self.zxid)
            return None, Op(type="delete", path=path)
        znode = self.tree.check(path, op.version)
        return None, Op(type="check", path=path, version=znode.version + 1)

    def _fire(self) -> None:
        self.replica.fire()

    def _now_ms(self) -> int:
        return WALL_START_MS + self.scheduler.now_us // 1000

    def _log(
        self,
        session_id: int,
        cxid: int,
        kind: str,
        *,
        ops: tuple[Op, ...] = (),
        error: int | None = None,
        timeout_ms: int | None = None,
        closed: tuple[str, ...] = (),
    ) -> None:
        txn = Txn(
            zxid=self.zxid,
            session=session_id,
            cxid=cxid,
            time_ms=self._now_ms(),
            type=kind,
            ops=ops,
            error=error,
            timeout_ms=timeout_ms,
            closed=closed,
        )
        self.txns.append((self.scheduler.now_us, txn))
        for follower in self.followers:
            follower.learn()


def _code(refused: ZkError) -> int:
    return refused.zk_code if isinstance(refused, UnexpectedZkError) else refused.code


def _of_client(refused: ZkError, path: str) -> ZkError:
    """With the path that the client named: without chroot and sequence number."""
    if refused.path == path:
        return refused
    if isinstance(refused, UnexpectedZkError):
        return UnexpectedZkError(refused.zk_code, path)
    return type(refused)(path)
