"""Every answer of a leader selector can be used: a plugin that raises, or elects who may not lead, is no silent affair."""

from __future__ import annotations

from kcontroller_chaos.checking import SAFETY, Verdict, is_state, writes
from kcontroller_chaos.history.read import History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.model.history import SelectorBadAnswer


class SelectorsAnswer(Invariant):
    name = "selectors-answer"
    kind = SAFETY
    expected = "every answer of the chosen leader selectors is valid: the leader is live and in the ISR that it names"
    source = "this project: hookspecs, LeaderSelector.select; a bad answer is replaced by the stock rule's"

    def check(self, history: History) -> Verdict:
        bad = history.of(SelectorBadAnswer)
        checks = sum(1 for write in writes(history) if is_state(write.path)) + len(bad)
        if not bad:
            return Verdict.of(checks)
        first = bad[0]
        plural = "1 answer" if len(bad) == 1 else f"{len(bad)} answers"
        where = f"{first['topic']}-{first['partition']}, on {first['writer']}"
        witness = {key: first[key] for key in ("plugin", "topic", "partition", "t_us")} | {"writer": first["writer"]}
        seen = f"{plural} of {first['plugin']} could not be used, and the stock rule decided; the first: {first['why']}"
        return Verdict.violated(checks, seen=seen, where=where, witness=witness)
