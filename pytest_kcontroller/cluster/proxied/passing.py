"""What passes the relays behind the proxies: connections, and the sessions that ZooKeeper grants on them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_kcontroller.cluster.zookeeper.handshake import Granted, Handshake, Question, Refused
from pytest_kcontroller.cluster.zookeeper.relay import Witness
from pytest_kcontroller.model.cluster import Address


@dataclass(slots=True)
class Passed:
    """A session that ZooKeeper granted on a connection through a proxy."""

    session_id: int
    password: bytes = field(repr=False)
    timeout_ms: int
    """As negotiated."""
    member: Address
    """The server of the newest connection that it was granted or resumed on."""
    connections: int = 0
    """That are open and carry it."""

    @property
    def connected(self) -> bool:
        return self.connections > 0


@dataclass(slots=True)
class Trace:
    """How far a question with a session id that nobody has came: to the relay, and back from ZooKeeper to it."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    answered: asyncio.Event = field(default_factory=asyncio.Event)


class Passing:
    """Of one set of proxies."""

    def __init__(self) -> None:
        self._sessions: dict[int, Passed] = {}
        self._traces: dict[int, Trace] = {}
        self._held: set[int] = set()
        self._released = asyncio.Condition()
        self._open: dict[Address, int] = {}
        self._ends: set[Address] = set()
        self._changed = asyncio.Event()
        self.connections = 0
        """That there have been, ours too."""

    @property
    def sessions(self) -> Mapping[int, Passed]:
        """By id, in the order in which they were granted first."""
        return self._sessions

    def open_connections(self, member: Address) -> int:
        """Whether with a session or without."""
        return self._open.get(member, 0)

    def reach(self, end: Address) -> None:
        """A connection to ZooKeeper has this end here: a relay's, or one that we end a session on."""
        self._ends.add(end)

    def came_from(self, end: Address) -> bool | None:
        """Whether one of these connections has, or had, this end; None: it is translated on the way, as to
        containers, so that nobody can tell."""
        if end in self._ends:
            return True
        return False if end.host in {ours.host for ours in self._ends} else None

    def trace(self, session_id: int) -> Trace:
        """Of a question that is about to be asked with this session id."""
        return self._traces.setdefault(session_id, Trace())

    def forget(self, session_id: int) -> None:
        self._traces.pop(session_id, None)

    def hide(self, session_id: int) -> None:
        """One of our own."""
        self._sessions.pop(session_id, None)

    def hold(self, session_id: int) -> None:
        """Nothing of this session passes in either direction, on whatever connection, until `release`."""
        self._held.add(session_id)

    async def release(self, session_id: int) -> None:
        self._held.discard(session_id)
        async with self._released:
            self._released.notify_all()

    def witness(self, member: Address) -> Witness:
        """Of a new connection to `member`."""
        return _Connection(self, member)

    async def changed(self) -> None:
        """Returns at the next change of anything here."""
        await self._changed.wait()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _opened(self, member: Address, change: int) -> None:
        self._open[member] = self._open.get(member, 0) + change
        self._tell()

    def _granted(self, member: Address, granted: Granted) -> Passed:
        session = self._sessions.setdefault(
            granted.session_id, Passed(granted.session_id, granted.password, granted.timeout_ms, member)
        )
        session.password, session.timeout_ms, session.member = granted.password, granted.timeout_ms, member
        session.connections += 1
        self._tell()
        return session

    def _ended(self, session: Passed) -> None:
        session.connections -= 1
        self._tell()

    async def _wait_released(self, session_id: int) -> None:
        async with self._released:
            await self._released.wait_for(lambda: session_id not in self._held)


class _Connection(Witness):
    def __init__(self, passing: Passing, member: Address) -> None:
        self._passing, self._member = passing, member
        self._question, self._answer = Question(), Handshake()
        self._asks_for = 0
        self._session: Passed | None = None
        passing.connections += 1
        passing._opened(member, +1)

    def ask(self, data: bytes) -> None:
        if (session_id := self._question.hear(data)) is not None:
            self._asks_for = session_id
            if (trace := self._passing._traces.get(session_id)) is not None:
                trace.asked.set()

    def hear(self, data: bytes) -> None:
        match self._answer.hear(data):
            case Granted() as granted:
                self._session = self._passing._granted(self._member, granted)
            case Refused() if (trace := self._passing._traces.get(self._asks_for)) is not None:
                trace.answered.set()

    async def wait_passable(self) -> None:
        session_id = self._asks_for if self._session is None else self._session.session_id
        if session_id in self._passing._held:
            await self._passing._wait_released(session_id)

    def end(self) -> None:
        if self._session is not None:
            self._passing._ended(self._session)
        self._passing._opened(self._member, -1)
