"""ZkSession: the port to ZooKeeper that a node sees. Two adapters exist: kazoo, and the simulated ZooKeeper.

One object is one ZooKeeper session, from its handshake to its end. It never turns into another session: after EXPIRED
or CLOSED every request fails, and a new session is a new object, opened by whoever processed the end of the old one.

**One FIFO.** Replies, watch events and state changes reach the loop in the order in which ZooKeeper (or the loss of the
connection) produced them: each is delivered by one `loop.call_soon`, a reply by completing its future, the others by
calling the listener, and the next one only after that (so whoever awaits the future has run before). Code that awaits the
future itself sees exactly that order, also of replies that it asked for together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import field
from enum import StrEnum
from typing import ClassVar, Protocol

from pytest_kcontroller.model.values import value

ANY_VERSION = -1


# --- requests ---------------------------------------------------------------------------------------------------------


@value(frozen=True, slots=True)
class Create:
    """-> Created. Fails with NodeExistsError, NoNodeError (no parent)."""

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequence: bool = False


@value(frozen=True, slots=True)
class SetData:
    """-> Stat. Fails with NoNodeError, BadVersionError."""

    path: str
    data: bytes
    version: int = ANY_VERSION


@value(frozen=True, slots=True)
class Delete:
    """-> None. Fails with NoNodeError, BadVersionError, NotEmptyError."""

    path: str
    version: int = ANY_VERSION


@value(frozen=True, slots=True)
class Check:
    """-> None; only inside a Multi. Fails with NoNodeError, BadVersionError."""

    path: str
    version: int


@value(frozen=True, slots=True)
class Exists:
    """-> Stat, or None if there is no such znode. The watch fires on creation, change and deletion."""

    path: str
    watch: bool = False


@value(frozen=True, slots=True)
class GetData:
    """-> Node. Fails with NoNodeError (then no watch is set). The watch fires on change and deletion."""

    path: str
    watch: bool = False


@value(frozen=True, slots=True)
class GetChildren:
    """-> Children, names sorted. Fails with NoNodeError. The watch fires when a child comes or goes, and on deletion."""

    path: str
    watch: bool = False


WriteOp = Create | SetData | Delete | Check
ReadOp = GetData | GetChildren


@value(frozen=True, slots=True)
class Multi:
    """-> tuple with one result per operation, all applied or none.

    If one fails, the tuple has ZkError values: the failing operation's own, RolledBackError before and after it.
    """

    ops: tuple[WriteOp, ...]


@value(frozen=True, slots=True)
class MultiRead:
    """-> tuple with a Node, Children or ZkError per read (opcode 22, ZooKeeper 3.6+). Sets no watches."""

    reads: tuple[ReadOp, ...]


Request = Create | SetData | Delete | Exists | GetData | GetChildren | Multi | MultiRead


# --- results ----------------------------------------------------------------------------------------------------------


@value(frozen=True, slots=True, kw_only=True)
class Stat:
    """A znode's metadata. `ephemeral_owner` is a session id, 0 for a persistent znode; times in ms since 1970."""

    czxid: int
    mzxid: int
    pzxid: int
    ctime_ms: int
    mtime_ms: int
    version: int
    cversion: int
    ephemeral_owner: int
    children: int


@value(frozen=True, slots=True)
class Node:
    data: bytes
    stat: Stat


@value(frozen=True, slots=True)
class Children:
    """Names, sorted. A GetChildren inside MultiRead has no stat."""

    names: tuple[str, ...]
    stat: Stat | None = None


@value(frozen=True, slots=True)
class Created:
    """The path as made (a sequence's number is in it). Its stat as of then is told by the simulated server alone: ZooKeeper
    does with another request (create2), which no node sends."""

    path: str
    stat: Stat | None = field(default=None, compare=False)


class ZkError(Exception):
    """A request's failure; `code` is ZooKeeper's (KeeperException.Code)."""

    code: ClassVar[int] = 0

    def __init__(self, path: str = "") -> None:
        self.path = path
        super().__init__(f"{type(self).__name__.removesuffix('Error')}({path})" if path else type(self).__name__)


class RolledBackError(ZkError):
    """This operation of a Multi was not tried or was undone, because another one failed."""

    code = -2


class ConnectionLossError(ZkError):
    """The connection went away; the request may or may not have been applied."""

    code = -4


class NoNodeError(ZkError):
    code = -101


class BadVersionError(ZkError):
    code = -103


class NoChildrenForEphemeralsError(ZkError):
    code = -108


class NodeExistsError(ZkError):
    code = -110


class NotEmptyError(ZkError):
    code = -111


class SessionExpiredError(ZkError):
    """This session has ended, by expiry or by being closed; nothing more can be done in it."""

    code = -112


class RequestTooBigError(ZkError):
    """The request would exceed ZooKeeper's packet limit (jute.maxbuffer, 1 MiB): it was not sent, since the server would
    answer by closing the connection, and a resend would do so for ever."""

    code = -5


class UnexpectedZkError(ZkError):
    """Any other code; `code` is set on the instance."""

    def __init__(self, code: int, path: str = "") -> None:
        super().__init__(path)
        self.zk_code = code


# --- events -----------------------------------------------------------------------------------------------------------


class WatchKind(StrEnum):
    CREATED = "created"
    DELETED = "deleted"
    CHANGED = "changed"
    CHILDREN = "children"


@value(frozen=True, slots=True)
class WatchEvent:
    """A one-shot watch fired. A deletion fires data and child watches of a path once together."""

    kind: WatchKind
    path: str


class SessionState(StrEnum):
    CONNECTED = "connected"
    SUSPENDED = "suspended"
    """Not connected; the server may or may not have given the session up. All watches are gone (kazoo forgets them)."""
    EXPIRED = "expired"
    CLOSED = "closed"


@value(frozen=True, slots=True)
class StateEvent:
    state: SessionState


SessionEvent = WatchEvent | StateEvent
Listener = Callable[[SessionEvent], None]


CLOSE_GRACE_S = 1.0
"""A closing session that gets no answer (a cut link, a paused server) is given up after this; ZooKeeper expires it later."""


class ZkSession(Protocol):
    """One session."""

    @property
    def session_id(self) -> int: ...

    @property
    def password(self) -> bytes: ...

    @property
    def timeout_ms(self) -> int:
        """As negotiated with the server, not as asked for."""
        ...

    @property
    def state(self) -> SessionState: ...

    @property
    def last_zxid(self) -> int:
        """Every transaction up to this one had been done when the newest reply that was delivered was made; 0: none yet."""
        ...

    def submit(self, request: Request) -> asyncio.Future[object]:
        """Sends one request, pipelined behind the earlier ones.

        The future gets the result that the request's class names, or a ZkError. While SUSPENDED a request waits for the
        reconnection; it fails with ConnectionLossError if it was on the wire when the connection broke.
        """
        ...

    async def close(self) -> None:
        """Closes the session in ZooKeeper (its ephemerals go at once); the listener gets CLOSED. Idempotent. Without an
        answer CLOSED comes after CLOSE_GRACE_S, or what the connector was given instead, and ZooKeeper expires the session
        later."""
        ...

    def abandon(self) -> None:
        """`close` in the background."""
        ...


class ZkConnector(Protocol):
    """Opens sessions: what a runtime gives to a node."""

    async def open(self, listener: Listener) -> ZkSession:
        """A new, connected session. Tries until one is there; cancel it to give up."""
        ...
