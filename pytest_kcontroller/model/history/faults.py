"""The steps of a fault, from its trigger to its healing, by the engine or the test that plays it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pytest_kcontroller.model.history.engine import EngineEvent
from pytest_kcontroller.model.history.event import NOWHERE, About, Focus, event
from pytest_kcontroller.model.history.fields import Fault, MaybeSession, Mode, Why


class FaultEvent(EngineEvent):
    """A step of a fault. Its sentence is the same for all."""

    __slots__ = ()
    fault: str
    fault_kind: str
    mode: str | None
    node: int | None
    stage: ClassVar[str]

    def sentence(self, focus: Focus = NOWHERE) -> str:
        name = f"{self.fault} ({self.fault_kind}{f':{self.mode}' if self.mode else ''}"
        name += f" on node {self.node})" if self.node is not None else ")"
        why = getattr(self, "why", None)
        return f"fault {name}: {self.stage}" + (f", {why}" if why else "")


FaultKind = Annotated[str, About("the kind of a fault: kill, partition ...")]
Target = Annotated[str | None, About("whom the campaign names as its target")]
Hit = Annotated[int | None, About("the node that is hit; null: several, or nobody")]


@event
class FaultAsked(FaultEvent):
    """Its moment has come."""

    kind = "fault.asked"
    stage = "asked"
    fault: Fault
    fault_kind: FaultKind
    mode: Mode
    target: Target
    node: Hit
    session: MaybeSession
    nodes: Annotated[list[int], About("the nodes that are hit")]
    sessions: Annotated[list[str], About("the sessions that these nodes had then")]
    zxid: Annotated[int, About("the newest transaction in ZooKeeper's log then; 0: none")]
    ends_process: Annotated[bool, About("whether it may end the processes of these nodes")]
    statuses: Annotated[list[int], About("how these may end by it, -9 by SIGKILL; empty: anyhow, if they may")]
    parameters: Annotated[Mapping[str, Any], About("the keys of its kind, such as `delay_ms`")]


@event
class FaultApplied(FaultEvent):
    """It has been injected."""

    kind = "fault.applied"
    stage = "applied"
    fault: Fault
    fault_kind: FaultKind
    mode: Mode
    target: Target
    node: Hit
    session: MaybeSession


@event
class FaultObserved(FaultEvent):
    """It has its effect, by other means than it was injected with."""

    kind = "fault.observed"
    stage = "observed"
    fault: Fault
    fault_kind: FaultKind
    mode: Mode
    target: Target
    node: Hit
    session: MaybeSession
    evidence: Annotated[dict[str, Any], About("what was seen of the effect; `t_us`: when")]


@event
class FaultHealed(FaultEvent):
    """It has been taken back."""

    kind = "fault.healed"
    stage = "healed"
    fault: Fault
    fault_kind: FaultKind
    mode: Mode
    target: Target
    node: Hit
    session: MaybeSession


@event
class FaultNotApplied(FaultEvent):
    """It could not be injected."""

    kind = "fault.not-applied"
    stage = "not applied"
    fault: Fault
    fault_kind: FaultKind
    mode: Mode
    target: Target
    node: Hit
    session: MaybeSession
    why: Why


@event
class FaultNotObserved(FaultEvent):
    """There was no evidence of its effect in time."""

    kind = "fault.not-observed"
    stage = "not observed"
    fault: Fault
    fault_kind: FaultKind
    mode: Mode
    target: Target
    node: Hit
    session: MaybeSession
    why: Why


@event
class FaultNotLasting(FaultEvent):
    """It had its effect, and was not there any more when it was to be taken back: somebody else had done that."""

    kind = "fault.not-lasting"
    stage = "not lasting"
    fault: Fault
    fault_kind: FaultKind
    mode: Mode
    target: Target
    node: Hit
    session: MaybeSession
    why: Why


@event
class FaultNotHealed(FaultEvent):
    """It could not be taken back."""

    kind = "fault.not-healed"
    stage = "not healed"
    fault: Fault
    fault_kind: FaultKind
    mode: Mode
    target: Target
    node: Hit
    session: MaybeSession
    why: Why


@event
class FaultSkipped(FaultEvent):
    """One with `if_possible`, as drawn ones are, had nothing to hit, and is taken back: nothing has failed."""

    kind = "fault.skipped"
    stage = "skipped"
    fault: Fault
    fault_kind: FaultKind
    mode: Mode
    target: Target
    node: Hit
    session: MaybeSession
    why: Why
