"""After a newer controller epoch, no write by a session that was elected with an older one is accepted."""

from __future__ import annotations

from kcontroller_chaos.checking import SAFETY, Verdict, is_state, is_topic, writes
from kcontroller_chaos.history.read import History
from kcontroller_chaos.invariants import Invariant


class NoStaleEpochWrite(Invariant):
    name = "no-stale-epoch-write"
    kind = SAFETY
    expected = "no accepted write of a state or topic by a session elected with an older epoch"
    source = "KAFKA-6082 (fixed in Kafka 2.1)"

    def check(self, history: History) -> Verdict:
        checks = 0
        for write in writes(history):
            if write.own is None or not (is_state(write.path) or is_topic(write.path)):
                continue
            checks += 1
            if write.own < write.epoch:
                seen = f"{write.session}, elected with epoch {write.own}, wrote after epoch {write.epoch}"
                witness = write.witness(epoch=write.own, newest_epoch=write.epoch)
                return Verdict.violated(checks, seen=seen, where=write.where, witness=witness)
        return Verdict.of(checks)
