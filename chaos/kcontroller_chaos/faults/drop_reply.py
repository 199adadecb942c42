"""drop_reply: it was done, and nobody hears of it."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import Self

from kcontroller_chaos.faults import parameter
from kcontroller_chaos.faults._inside import WORKLOAD, Inside, is_said, said
from kcontroller_chaos.injection import Evidence, Injection
from pytest_kcontroller.cluster.capabilities import HOLDS
from pytest_kcontroller.model.history import AnswerLost
from pytest_kcontroller.runtime.holds import REPLY, REQUESTS


@dataclass(frozen=True, slots=True, kw_only=True)
class DropReply(Inside):
    """The node does what the next requests of this API ask for, and their connections end without an answer."""

    kind = "drop_reply"
    example = f"""\
[[faults]]
kind = "drop_reply"
request = "UpdateMetadata"  # every broker gets it
target = "controller"
at_s = 1
duration_s = 2
{WORKLOAD}"""

    request: str = parameter(REQUESTS[0], "its API", choices=REQUESTS)
    count: int = parameter(1, "so many answers are lost, if so many come", least=1, most=1000)

    @property
    def armed(self) -> str:
        return f"{REPLY}:{self.request}"

    async def inject(self, on: Injection) -> None:
        await on.cluster.capability(HOLDS).lose(on.node, self.armed, self.count)

    async def observe(self, on: Injection) -> Evidence:
        """The node's own record that an answer was lost."""
        return said(await on.feed.wait(lambda e: is_said(e, AnswerLost.kind, self.armed, on.node), since=on.since))

    async def look_again(self, on: Injection) -> None:
        """It is over when so many answers are lost."""

    @classmethod
    def drawn(cls, draw: Random) -> Self:
        return cls(request=draw.choice(REQUESTS), count=draw.randint(1, 3))
