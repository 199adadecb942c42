"""The fewest faults and actions of a schedule that still violate what it has violated, in simulated time.

Delta debugging (Zeller, Hildebrandt: Simplifying and Isolating Failure-Inducing Input): leave out ever smaller parts, until
no single action can be left out any more. Each action draws from a stream of its own, so that the others do the same
without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from kcontroller_chaos.campaign.actions import Action
from kcontroller_chaos.campaign.file import Campaign
from kcontroller_chaos.campaign.schedule import Schedule
from kcontroller_chaos.play.hunting import Hunter
from kcontroller_chaos.play.runner import Options

T = TypeVar("T")


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


@dataclass(slots=True)
class Shrinking:
    """Of one schedule. `wanted` is the invariant that must be violated; `tell(actions, runs)` is called whenever fewer are
    enough. Raises UsageError as runner.check does."""

    campaign: Campaign
    options: Options
    schedule: Schedule
    wanted: str
    most_runs: int
    tell: Callable[[int, int], None]
    runs: int = 0
    _hunter: Hunter = field(init=False)

    def __post_init__(self) -> None:
        self._hunter = Hunter(self.campaign, self.options)

    @property
    def enough(self) -> bool:
        """No more runs: with more of them fewer actions may do."""
        return self.runs >= self.most_runs

    def comes_back(self) -> bool:
        """Whether the whole schedule violates it still."""
        return self._violates(self.schedule.actions)

    def shrunk(self) -> Schedule:
        """Once it has come back."""
        return replace(self.schedule, actions=tuple(fewest(self.schedule.actions, self._violates)))

    def _violates(self, actions: Sequence[Action]) -> bool:
        if self.enough:
            return False
        self.runs += 1
        found = self._hunter.play(self.schedule.seed, replace(self.schedule, actions=tuple(actions)))
        if self.wanted not in found.violated:
            return False
        self.tell(len(actions), self.runs)
        return True


def violating_seed(campaign: Campaign, options: Options, wanted: str, seeds: Sequence[int]) -> int | None:
    """The first of `seeds` with which the campaign violates it; None: none does."""
    hunter = Hunter(campaign, options)
    return next((seed for seed in seeds if wanted in hunter.play(seed).violated), None)
