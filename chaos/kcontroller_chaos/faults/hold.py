"""hold: the next task of the node that reaches a hold point waits there; pings, watches and the rest of the node go on."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import Any, ClassVar

from kcontroller_chaos.faults import Fault
from kcontroller_chaos.feed import writer_is
from kcontroller_chaos.injection import TASKS, Evidence, Injection
from pytest_kcontroller.runtime.holds import BEFORE_STATE_WRITE, POINTS


class Hold:
    ends_session = False
    claims = (TASKS,)
    may_miss = True

    async def inject(self, on: Injection) -> None:
        await on.cluster.hold(on.node, _point(on))

    async def observe(self, on: Injection) -> Evidence:
        """The node's own record that a task waits there."""
        event = await on.feed.wait(
            lambda e: e["kind"] == "hold.reached" and e["point"] == _point(on) and writer_is(e["writer"], on.node),
            since=on.since,
        )
        return {"writer": event["writer"], "seq": event["seq"], "point": event["point"], "t_us": event["t_us"]}

    async def heal(self, on: Injection) -> None:
        await on.cluster.release(on.node, _point(on))

    def within_s(self, on: Injection) -> float:
        return 5.0


def _point(on: Injection) -> str:
    return str(on.parameters.get("point") or BEFORE_STATE_WRITE)


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldFault(Fault):
    kind: ClassVar[str] = "hold"
    example: ClassVar[str] = f"""\
[[faults]]
kind = "hold"
point = "{BEFORE_STATE_WRITE}"
target = "controller"
at_s = 1
duration_s = 2

[[workload]]                # makes the controller write, so that it reaches the point
kind = "admin"
action = "create_topic"
topic = "late"
at_s = 2
"""
    work: ClassVar = {"": Hold}
    point: str = field(default=BEFORE_STATE_WRITE, metadata={"help": "the hold point", "choices": POINTS})

    @classmethod
    def drawn(cls, draw: Random, mode: str | None) -> dict[str, Any]:
        return {"point": draw.choice(POINTS)}
