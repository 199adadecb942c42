"""The in-sync replica set of a partition never becomes empty: its last member stays in it, dead or not."""

from __future__ import annotations

from kcontroller_chaos.checking import SAFETY, WRITES, Verdict, is_state, writes
from kcontroller_chaos.history.read import History
from kcontroller_chaos.invariants import Invariant


class IsrKeepsLastMember(Invariant):
    name = "isr-keeps-last-member"
    kind = SAFETY
    expected = "at least one replica in every ISR that is written"
    source = "KAFKA-5083 (fixed in Kafka 1.1), KAFKA-708"

    def check(self, history: History) -> Verdict:
        checks = 0
        for write in writes(history):
            if write.type not in WRITES or not is_state(write.path) or (state := write.state) is None:
                continue
            checks += 1
            if not state["isr"]:
                seen, witness = "an empty ISR", write.witness(leader=state["leader"], isr=[])
                return Verdict.violated(checks, seen=seen, where=write.where, witness=witness)
        return Verdict.of(checks)
