"""What the engine of a campaign, or a test, does to a cluster and sees of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pytest_kcontroller.model.history.event import NOWHERE, About, Focus, HistoryEvent, Rank, Writer, event
from pytest_kcontroller.model.history.fields import (
    Epoch,
    Error,
    MaybeSession,
    Node,
    Op,
    Session,
    Topic,
    Why,
)
from pytest_kcontroller.model.text import in_words


class EngineEvent(HistoryEvent):
    """What the engine writes."""

    __slots__ = ()
    writer = Writer.ENGINE


# --- the run ----------------------------------------------------------------------------------------------------------


@event
class RunStarted(EngineEvent):
    """The cluster is there, and the schedule begins."""

    kind = "run.started"
    rank = Rank.UNTOLD
    text = "the run starts"


@event
class RunEnded(EngineEvent):
    """Everything has been played, healed and looked at."""

    kind = "run.ended"
    text = "the run ended"


@event
class RunFailed(EngineEvent):
    """The cluster did not start, or could not be used."""

    kind = "run.failed"
    text = "the run failed: {error}"
    error: Error


@event
class SessionGranted(EngineEvent):
    """ZooKeeper has granted or resumed a session, as it was seen on the link of a node that does not say it itself."""

    kind = "session.granted"
    text = "node {node} has the session {session} ({timeout_ms} ms)"
    node: Node
    session: Session
    timeout_ms: Annotated[int, About("the session time-out as negotiated", unit="milliseconds")]


FALLEN = "its process has ended by itself"
"""Of `node.ready`: why a node is not that does not run."""


@event
class NodeReady(EngineEvent):
    """A node is ready at the end, or it says why not; one that somebody has ended is not asked."""

    kind = "node.ready"
    node: Node
    why: Annotated[str, About("why it is not ready; empty: it is")]

    def sentence(self, focus: Focus = NOWHERE) -> str:
        how = f"is not ready: {in_words(self.why)}" if self.why else "is ready"
        return f"node {in_words(self.node)} {how}"


@event
class ProgramPrinted(EngineEvent):
    """What the processes of a node have printed on stdout until the end besides JSON objects, if they have."""

    kind = "program.printed"
    rank = Rank.UNTOLD
    text = "the program of node {node}: {otherwise}"
    node: Node
    otherwise: Annotated[str, About("how many lines were no JSON object, and the most telling of them, in words")]


@event
class NodeRespawned(EngineEvent):
    """A program of a user's has ended by itself, and is started again, as `[system]` says."""

    kind = "node.respawned"
    text = "node {node} is started again"
    node: Node


@event
class ProcessExited(EngineEvent):
    """The process of a node has ended."""

    kind = "process.exited"
    text = "the process of node {node} ended with status {status}"
    node: Node
    status: Annotated[int, About("the exit status; negative: the signal that ended it")]


@event
class HostOverload(EngineEvent):
    """ZooKeeper gave up a session that no fault was to end."""

    kind = "host.overload"
    text = "ZooKeeper gave up session {session}, which no fault was to end"
    session: Session
    zxid: Annotated[int, About("the transaction that closed it")]


@event
class ClockStepped(EngineEvent):
    """The wall clock of this machine was set, or the machine was suspended. Run times do not count by it; what ZooKeeper
    stamps by it is read with the step."""

    kind = "clock.stepped"
    step_us: Annotated[int, About("by how much it was set; negative: back", unit="microseconds")]
    since_us: Annotated[int, About("the run time of the last look at both clocks before the step", unit="microseconds")]
    until_us: Annotated[int, About("the run time of a look after it", unit="microseconds")]
    after_zxid: Annotated[int, About("the newest transaction in ZooKeeper's log at `since_us`; 0: none")]
    until_zxid: Annotated[int, About("the newest one at `until_us`")]

    def sentence(self, focus: Focus = NOWHERE) -> str:
        return clock_was_set(self.step_us)


def clock_was_set(step_us: Any) -> str:
    if not isinstance(step_us, int):
        return "the wall clock was set"
    return f"the wall clock was set {abs(step_us) / 1e6:.3f} s {'ahead' if step_us > 0 else 'back'}"


@event
class StrategyBadAnswer(EngineEvent):
    """An assignment strategy's answer could not be used: the stock one decided."""

    kind = "strategy.bad-answer"
    text = "the assignment strategy {plugin} gave a bad answer for the topic {topic}: {why}"
    plugin: Annotated[str, About("the name of the strategy")]
    topic: Topic
    why: Why


@event
class TriggerMissed(EngineEvent):
    """What a fault, or the run before its first topic, waited for did not come."""

    kind = "trigger.missed"
    text = "{trigger} did not happen in {waited_s} s"
    trigger: Annotated[str, About("what a fault waited for, as in `when` and `until`; or in words")]
    waited_s: Annotated[float, About("how long", unit="seconds")]


# --- what a campaign or a test does besides ---------------------------------------------------------------------------


class AdminEvent(EngineEvent):
    """A step of an admin action; the arguments of the action stand beside the other fields, under their own names."""

    __slots__ = ()
    op: str
    action: str
    arguments: Mapping[str, Any]
    stage: ClassVar[str]

    def fields(self) -> dict[str, object]:
        """The arguments are fields of their own."""
        own = dict(super().fields())
        own.pop("arguments")
        error = {"error": own.pop("error")} if "error" in own else {}
        return {**own, **self.arguments, **error}

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> HistoryEvent:
        """What is no field of its own is an argument."""
        known = ("writer", "seq", "t_us", "kind", "op", "action", "error")
        arguments = {name: value for name, value in line.items() if name not in known}
        return super().of({**line, "arguments": arguments})

    def sentence(self, focus: Focus = NOWHERE) -> str:
        error = getattr(self, "error", None)
        return f"admin {self.action} {self.op}: {self.stage}" + (f", {error}" if error else "")


Action = Annotated[str, About("what is done: create_topic ...")]
Arguments = Annotated[Mapping[str, Any], About("the arguments of the action, as fields of their own names")]


@event
class AdminInvoke(AdminEvent):
    """An admin action begins."""

    kind = "admin.invoke"
    stage = "invoke"
    op: Op
    action: Action
    arguments: Arguments


@event
class AdminOk(AdminEvent):
    """It has been done."""

    kind = "admin.ok"
    stage = "ok"
    op: Op
    action: Action
    arguments: Arguments


@event
class AdminFail(AdminEvent):
    """It has been refused, and has not happened."""

    kind = "admin.fail"
    stage = "fail"
    op: Op
    action: Action
    arguments: Arguments
    error: Error


@event
class AdminInfo(AdminEvent):
    """It may have happened, or not."""

    kind = "admin.info"
    stage = "info"
    op: Op
    action: Action
    arguments: Arguments
    error: Error


@event
class TestAction(EngineEvent):
    """What a test asked of its `kcluster`."""

    __test__: ClassVar[bool] = False  # pytest: it is no test
    kind = "test.action"
    text = "the test: {action} {arguments}"
    action: Annotated[str, About("the method of `kcluster`")]
    arguments: Annotated[str, About("its arguments, as text")]


# --- the end ----------------------------------------------------------------------------------------------------------


@event
class NodeStatus(EngineEvent):
    """What a node says of itself when asked, at the end."""

    kind = "node.status"
    rank = Rank.UNTOLD
    node: Node
    active: Annotated[bool, About("it takes itself for the controller")]
    epoch: Epoch
    session: MaybeSession
    phase: Annotated[str, About("connecting, registering, follower, loading, active, expired ...")]

    def sentence(self, focus: Focus = NOWHERE) -> str:
        role = f"the controller, epoch {self.epoch}" if self.active is True else "not the controller"
        session = f"session {self.session}" if self.session else "no session"
        return f"node {self.node} says: {role}, {self.phase}, {session}"


@event
class NodeMetadata(EngineEvent):
    """What UpdateMetadata had told a node at the end."""

    kind = "node.metadata"
    rank = Rank.UNTOLD
    node: Node
    metadata: Annotated[Mapping[str, Any], About("`controller`, `brokers` and `partitions`, as the node knows them")]

    def sentence(self, focus: Focus = NOWHERE) -> str:
        return f"node {self.node} knows {_known(self.metadata)}"


@event
class ZkTree(EngineEvent):
    """What ZooKeeper holds at the end."""

    kind = "zk.tree"
    rank = Rank.UNTOLD
    controller: Annotated[int | None, About("the node that `/controller` names; null: nobody")]
    controller_owner: Annotated[str | None, About("the session that owns `/controller`")]
    epoch: Epoch
    brokers: Annotated[list[int], About("the registered brokers")]
    partitions: Annotated[
        list[Mapping[str, Any]],
        About(
            "each with its `topic`, `partition`, `replicas`, `adding`, `removing`, `leader`, `isr`, `leader_epoch`, "
            "`controller_epoch`, `version`"
        ),
    ]
    deleting: Annotated[list[str], About("the topics that are to be deleted, and are not gone yet")]
    electing: Annotated[list[str], About("the partitions (TOPIC-NUMBER) in `/admin/preferred_replica_election`")]
    requested: Annotated[
        Mapping[str, list[int]], About("partition -> the replicas that `/admin/reassign_partitions` still asks for")
    ]

    def sentence(self, focus: Focus = NOWHERE) -> str:
        return f"ZooKeeper holds {_known({'controller': self.controller, 'brokers': self.brokers})}"


def _known(held: Any) -> str:
    if not isinstance(held, Mapping):
        return in_words(held)
    return f"controller {in_words(held.get('controller'))}, brokers {in_words(held.get('brokers'))}"
