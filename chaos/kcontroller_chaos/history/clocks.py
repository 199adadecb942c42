"""One clock: run times of what ZooKeeper stamped by the wall clock; all else has the run's own time, a monotonic one.

Whoever follows a run looks at both side by side, and notes when they have moved against each other (`clock.stepped`). From
one step to the next the two differ by a constant. Transactions are ordered by zxid alone: their times are for people, and
for how long something took.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_kcontroller.model.history import ClockStepped
from pytest_kcontroller.runtime.real import RunStart


@dataclass(slots=True)
class _Span:
    """Until the next step: the wall clock is `ahead_us` of the run's own. It began after `since_us` and `after_zxid`, and
    was over by `until_us` and `until_zxid`."""

    ahead_us: int = 0
    since_us: float = -math.inf
    after_zxid: float = -math.inf
    until_us: float = math.inf
    until_zxid: float = math.inf


class WallTimes:
    """What the wall clock said, as run times."""

    def __init__(self, start: RunStart, steps: Iterable[Mapping[str, Any]] = ()) -> None:
        """`steps` are lines of `clock.stepped`, in their order."""
        self._start_us = start.wall_ns // 1000
        self._spans = [_Span()]
        self._last_us = -math.inf
        for step in steps:
            self.begin(step["step_us"], since_us=step["since_us"], after_zxid=step["after_zxid"])
            self.settle(until_us=step["until_us"], until_zxid=step["until_zxid"])

    def begin(self, step_us: int, *, since_us: int, after_zxid: int) -> None:
        """A step has been seen: at the look before, at `since_us`, `after_zxid` was the newest transaction in the log."""
        self._spans.append(_Span(self._spans[-1].ahead_us + step_us, since_us, after_zxid))

    def settle(self, *, until_us: int, until_zxid: int) -> None:
        """All that was stamped before the step that began last is in the log now, which has got to `until_zxid`."""
        self._spans[-2].until_us, self._spans[-2].until_zxid = until_us, until_zxid

    def of_txn(self, zxid: int, time_ms: int, *, seen_us: float = math.inf) -> int:
        """Of a transaction that was in the log by `seen_us`; asked for in the order of zxids, which the times keep.

        Around a step its zxid leaves two readings or more: the one counts that lies between the looks which had it not yet
        and had it, or nearest to them. So it is off by no more than these are apart.
        """
        spans = [span for span in self._spans if span.after_zxid < zxid <= span.until_zxid]
        since_us, until_us = spans[-1].since_us, min(spans[0].until_us, seen_us)
        readings = [time_ms * 1000 - self._start_us - span.ahead_us for span in reversed(spans)]
        inside = [min(max(reading, since_us), until_us) for reading in readings]
        _, at_us = min(zip(readings, inside, strict=True), key=lambda one: abs(one[0] - one[1]))
        self._last_us = max(self._last_us, at_us)
        return int(self._last_us)

    def of_log(self, time_ms: int) -> list[int]:
        """All that a line of a log may mean: a clock that was set back tells a time twice."""
        read_us = time_ms * 1000 - self._start_us
        return [
            read_us - span.ahead_us
            for span in self._spans
            if span.since_us <= read_us + 1000 - span.ahead_us and read_us - span.ahead_us <= span.until_us
        ]


def steps_in(history: Path) -> list[Mapping[str, Any]]:
    """The steps that the harness has noted in a run's history so far."""
    path = history / "engine.jsonl"
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []  # the last one may be half
    found = [json.loads(line) for line in lines if ClockStepped.kind.encode() in line]
    return [event for event in found if event["kind"] == ClockStepped.kind]
