"""What a node's process says of itself: its life, its ZooKeeper session, the places where it was made to wait."""

from __future__ import annotations

from typing import Annotated

from pytest_kcontroller.model.history.event import About, HistoryEvent, Rank, event
from pytest_kcontroller.model.history.fields import Counts, Node, Point, Session, Why

Pid = Annotated[int, About("the process id")]


@event
class NodeStarted(HistoryEvent):
    """The process has begun."""

    kind = "node.started"
    text = "the process of node {node} starts (pid {pid})"
    node: Node
    pid: Pid


@event
class NodeStopping(HistoryEvent):
    """It was asked to end, and does."""

    kind = "node.stopping"
    text = "node {node} stops, as asked"
    node: Node
    pid: Pid


@event
class ZkState(HistoryEvent):
    """The state of the node's ZooKeeper client has changed."""

    kind = "zk.state"
    text = "the ZooKeeper client says: {state} (session {session})"
    state: Annotated[str, About("connected, suspended, expired or closed")]
    session: Session


@event
class NodeRefusedRequest(HistoryEvent):
    """Somebody sent what is no request, or one that is not served, and the connection was closed."""

    kind = "node.refused-request"
    text = "it closed a connection: {why}"
    why: Why


@event
class HoldReached(HistoryEvent):
    """A task waits at a hold point."""

    kind = "hold.reached"
    text = "a task waits at {point}"
    point: Point


@event
class HoldReleased(HistoryEvent):
    """It goes on."""

    kind = "hold.released"
    text = "the task at {point} goes on"
    point: Point


@event
class AnswerLost(HistoryEvent):
    """A request was handled, and its connection ended without the answer."""

    kind = "answer.lost"
    text = "the answer at {point} was lost"
    point: Point


@event
class MutantCounts(HistoryEvent):
    """How often the code of a mutant has run (on `sim` the engine says it)."""

    kind = "mutant.counts"
    rank = Rank.UNTOLD
    text = "code of the mutant {mutant} has run: {counts}"
    mutant: Annotated[str, About("the name of the mutant")]
    counts: Counts
