"""Every answer of an assignment strategy can be used: a plugin that raises, or names brokers that are not there, is no
silent affair."""

from __future__ import annotations

from kcontroller_chaos.checking import SAFETY, Verdict, is_topic, writes
from kcontroller_chaos.history.read import History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.model.history import StrategyBadAnswer


class StrategiesAnswer(Invariant):
    name = "strategies-answer"
    kind = SAFETY
    expected = "every answer of the chosen assignment strategy places every replica, on brokers that are there"
    source = "this project: hookspecs, AssignmentStrategy.assign; a bad answer is replaced by striped's"

    def check(self, history: History) -> Verdict:
        bad = history.of(StrategyBadAnswer)
        checks = sum(1 for write in writes(history) if is_topic(write.path)) + len(bad)
        if not bad:
            return Verdict.of(checks)
        first = bad[0]
        plural = "1 answer" if len(bad) == 1 else f"{len(bad)} answers"
        seen = f"{plural} of {first['plugin']} could not be used, and striped decided; the first: {first['why']}"
        witness = {key: first[key] for key in ("plugin", "topic", "t_us")}
        return Verdict.violated(checks, seen=seen, where=f"the topic {first['topic']}", witness=witness)
