"""The fewest faults and actions of a schedule that still violate what it has violated.

Delta debugging (Zeller, Hildebrandt: Simplifying and Isolating Failure-Inducing Input): leave out ever smaller parts, until
no single action can be left out any more. Each action draws from a stream of its own, so that the others do the same
without it. On real nodes one schedule need not come out as one run: there what violates nothing is played again, so often
as one likes, before it counts as that; once is enough for the contrary.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from kcontroller_chaos.campaign.actions import Action
from kcontroller_chaos.campaign.schedule import Schedule

T = TypeVar("T")

Play = Callable[[int, Schedule | None], tuple[str, Collection[str]]]
"""Plays a seed once, by a schedule, or by what its campaign draws; the verdict, and the invariants that are violated."""


def fewest(items: Sequence[T], violates: Callable[[Sequence[T]], bool]) -> list[T]:
    """Such ones that none of them can be left out alone; `violates(items)` is true. In the order that they have."""
    left, parts = list(items), 2
    while left:
        size = -(-len(left) // parts)
        for at in range(0, len(left), size):
            if violates(fewer := left[:at] + left[at + size :]):
                left, parts = fewer, max(2, min(parts - 1, len(fewer)))
                break
        else:
            if size == 1:
                return left
            parts = min(len(left), 2 * parts)
    return left


@dataclass(frozen=True, slots=True)
class Tried:
    """So many actions, and the verdict of each time that they were played: of the last one, if they are `violated`."""

    actions: int
    verdicts: tuple[str, ...]
    violated: bool


@dataclass(slots=True, kw_only=True)
class Shrinking:
    """Of one schedule. `wanted` is the invariant that must be violated; what does not violate it in `plays` plays counts as
    not doing so. `over(runs)` says why no further run is played, if none is. `tell` is called of each that was tried."""

    schedule: Schedule
    wanted: str
    play: Play
    plays: int
    over: Callable[[int], str]
    tell: Callable[[Tried, int], None]
    tried: list[Tried] = field(default_factory=list)
    runs: int = 0
    stopped: str = ""
    """Why it was ended: with more runs fewer actions may do."""

    def comes_back(self) -> bool:
        """Whether the whole schedule violates it still."""
        return self._violates(self.schedule.actions)

    def shrunk(self) -> Schedule:
        """Once it has come back."""
        return replace(self.schedule, actions=tuple(fewest(self.schedule.actions, self._violates)))

    def _violates(self, actions: Sequence[Action]) -> bool:
        schedule, verdicts, violated = replace(self.schedule, actions=tuple(actions)), list[str](), False
        while not violated and len(verdicts) < self.plays and not self._is_over():
            verdict, names = self.play(schedule.seed, schedule)
            self.runs += 1
            verdicts.append(verdict)
            violated = self.wanted in names
        if verdicts:
            self.tried.append(Tried(len(actions), tuple(verdicts), violated))
            self.tell(self.tried[-1], self.runs)
        return violated

    def _is_over(self) -> bool:
        self.stopped = self.stopped or self.over(self.runs)
        return bool(self.stopped)


def violating_seed(play: Play, wanted: str, seeds: Iterable[int]) -> int | None:
    """The first of `seeds`, each played as often as it stands there, with which a campaign violates it; None: none does."""
    return next((seed for seed in seeds if wanted in play(seed, None)[1]), None)
