"""What a fault's inject, observe and heal are given: the cluster, the feed, and what is known of this one injection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from kcontroller_chaos.feed import Event, Feed
from kcontroller_chaos.history.transactions import ZkTxn
from pytest_kcontroller.cluster.contract import Cluster, NodeSession
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.history import FaultAsked, ProcessExited
from pytest_kcontroller.runtime.ports import Clock

Evidence = dict[str, Any]
NOBODY = -1
"""The node of a fault that is on no node."""
HEALING_S = 15.0
"""What comes after the healing (`when = "healed:..."`) waits so long, unscaled, for a program of a user's to be ready."""
Wrong = tuple[str, str, str]
"""A key of a fault's table, what is wrong with its value, and what to write instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where a fault of a file or a test stands: what is known of it before it is injected. Of a file, `nodes` are with those
    that join."""

    nodes: int
    session_timeout_ms: int
    still_ms: float = 0
    log_dirs: int = 1
    target: str = ""
    """As the file or the test says it."""


@dataclass(slots=True, kw_only=True)
class Injection:
    """One fault on one node. `session` is what the node had when the fault was asked for; `since` is the feed's position
    then, so that nothing older can pass for evidence."""

    cluster: Cluster
    feed: Feed
    clock: Clock
    fault: str
    node: int
    session: int
    since: int
    duration_s: float | None = None
    target: str = ""
    """As it was asked for."""
    kept: list[Any] = field(default_factory=list)
    """What `inject` leaves to `observe` and `heal`, such as connections of its own: a fault itself has no memory."""
    others: tuple[int, ...] = field(init=False)
    """The other nodes that there were when the fault was asked for; one that joins later is not concerned."""

    def __post_init__(self) -> None:
        self.others = tuple(node for node in self.cluster.nodes if node != self.node)

    @classmethod
    def on_zookeeper(cls, cluster: Cluster, feed: Feed, clock: Clock, *, fault: str, duration_s: float | None) -> Self:
        """Now, on no node: all of them are others."""
        feed.poll()
        return cls(
            cluster=cluster,
            feed=feed,
            clock=clock,
            fault=fault,
            node=NOBODY,
            session=0,
            since=feed.position,
            duration_s=duration_s,
        )

    def closed(self, *, by_client: bool) -> Event | None:
        """This session's closeSession seen since, if a client asked for it, or if ZooKeeper gave the session up."""
        return self.feed.find(lambda event: self.is_close(event, by_client=by_client), since=self.since)

    @property
    def outlives_session(self) -> bool:
        """Whether whom nobody hears meanwhile loses its session: ZooKeeper expires them in steps of its tick, so one lives
        up to a half longer than its time-out."""
        return self.duration_s is None or self.duration_s * 1000 > 1.5 * self.cluster.session_timeout_ms

    def has_ended(self) -> bool:
        """Whether the end of the node's process has been seen since."""
        return self.feed.find(self._is_exit, since=self.since) is not None

    def _is_exit(self, event: Event) -> bool:
        return bool(event["kind"] == ProcessExited.kind and event["node"] == self.node)

    def is_close(self, event: Event, *, by_client: bool) -> bool:
        """ZooKeeper logs its own closeSession of an expired session with cxid 0; a client's has the client's xid."""
        return bool(
            event["kind"] == ZkTxn.kind
            and event["type"] == "close-session"
            and event["session"] == hex(self.session)
            and (event["cxid"] != 0) == by_client
        )

    @classmethod
    def begin(
        cls,
        cluster: Cluster,
        feed: Feed,
        clock: Clock,
        *,
        fault: str,
        node: int,
        duration_s: float | None,
        session: NodeSession | None,
        target: str = "",
    ) -> Self:
        """Now, on this session of the node's (session_meant). Raises EnvironmentFailure: nothing could be observed."""
        if cluster.process_state(node) == "T":
            raise EnvironmentFailure(f"node {node} is paused already, so nothing can be observed of a fault on it")
        feed.poll()
        why = without_session(session, feed, node)
        if session is None or why is not None:
            raise EnvironmentFailure(str(why))
        return cls(
            cluster=cluster,
            feed=feed,
            clock=clock,
            fault=fault,
            node=node,
            session=session.session_id,
            since=feed.position,
            duration_s=duration_s,
            target=target,
        )

    async def wait_closed(self, *, by_client: bool) -> Evidence:
        event = await self.feed.wait(lambda e: self.is_close(e, by_client=by_client), since=self.since)
        return {"zxid": event["zxid"], "session": event["session"], "cxid": event["cxid"], "t_us": event["t_us"]}


def asked(
    fields: Mapping[str, Any],
    members: Sequence[Injection],
    feed: Feed,
    *,
    statuses: Sequence[int] | None,
    parameters: Mapping[str, Any],
) -> FaultAsked:
    """That its moment has come. `fields` identify it, `members` are whom it hits, nobody if it cannot be injected.

    `statuses`: how their processes may end by it; empty: anyhow, None: they may not."""
    return FaultAsked(
        **fields,
        nodes=[member.node for member in members if member.node != NOBODY],
        sessions=[hex(member.session) for member in members if member.node != NOBODY],
        zxid=feed.zxid,
        ends_process=statuses is not None,
        statuses=list(statuses or ()),
        parameters=parameters,
    )


def without_session(session: NodeSession | None, feed: Feed, node: int) -> str | None:
    """That the node, whose `session` is known from its link, has none which a fault could be observed on; None: it has one.

    So it is for a moment when a node goes on that was paused or cut off for long: ZooKeeper has ended its session, and the
    node does not know it yet; or it does, and has no other yet.
    """
    if session is None:
        return f"node {node} has no session, so nothing can be observed of a fault on it"
    if hex(session.session_id) in feed.ended_sessions:
        return f"the session {session.session_id:#x} of node {node} has ended, and the node does not know it yet"
    return None


TASKS, SESSION, PROCESS, NETWORK = "tasks", "session", "process", "network"
"""What a fault needs to have for itself, of its node; NETWORK: of the whole cluster, as a link has two ends."""
EVERYTHING = "everything"
"""No other fault, wherever it is: without ZooKeeper hardly one could be observed."""
CLAIMS = (TASKS, SESSION, PROCESS, NETWORK, EVERYTHING)


def whom(members: Sequence[Injection]) -> dict[str, Any]:
    """Whom a fault hits, in each of its events: None for several, and for nobody."""
    on = members[0]
    single = len(members) == 1 and on.node != NOBODY
    return {"node": on.node if single else None, "session": hex(on.session) if single else None}


class Playable(Protocol):
    """What is played: a fault, or one in a wrapper. They use different means: `observe` never looks at what `inject`
    did itself."""

    async def inject(self, on: Injection) -> None:
        """Does it. Raises EnvironmentFailure if it could not: the fault was not applied."""
        ...

    async def observe(self, on: Injection) -> Evidence:
        """Waits for the evidence; the engine limits the time to `within_s`."""
        ...

    async def look_again(self, on: Injection) -> None:
        """Just before it is healed, once it has been observed. Raises EnvironmentFailure: it is not in force any more."""
        ...

    async def heal(self, on: Injection) -> None:
        """Takes it back; called exactly once, also after a failed or interrupted inject."""
        ...

    def within_s(self, on: Injection) -> float:
        """The time that the observation may take, in seconds, unscaled."""
        ...
