"""hold_request: what a controller asked for is done when there is another one."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random  # noqa: TID251 - the type only; streams come from the runtime
from typing import Self

from kcontroller_chaos.faults import parameter
from kcontroller_chaos.faults._inside import WORKLOAD, Inside
from pytest_kcontroller.runtime.holds import REQUEST, REQUESTS


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldRequest(Inside):
    """The next requests of this API that come to the node wait before they are handled, whoever is controller by then."""

    kind = "hold_request"
    example = f"""\
[[faults]]
kind = "hold_request"
request = "UpdateMetadata"  # every broker gets it
target = "controller"
at_s = 1
duration_s = 2
{WORKLOAD}"""

    request: str = parameter(REQUESTS[0], "its API", choices=REQUESTS)

    @property
    def armed(self) -> str:
        return f"{REQUEST}:{self.request}"

    @classmethod
    def drawn(cls, draw: Random) -> Self:
        return cls(request=draw.choice(REQUESTS))
