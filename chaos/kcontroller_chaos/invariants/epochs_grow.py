"""The controller epoch only grows."""

from __future__ import annotations

from kcontroller_chaos.checking import SAFETY, WRITES, Verdict, writes
from kcontroller_chaos.history.read import History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.model.text import whole_number
from pytest_kcontroller.zookeeper.znodes import CONTROLLER_EPOCH


class EpochsGrow(Invariant):
    name = "epochs-grow"
    kind = SAFETY
    expected = "each value of /controller_epoch is greater than the one before"
    source = "kafka.zk.KafkaZkClient.registerControllerAndIncrementControllerEpoch"

    def check(self, history: History) -> Verdict:
        before: int | None = None
        checks = 0
        for write in writes(history):
            if write.path != CONTROLLER_EPOCH:
                continue
            value = whole_number(write.data) if write.type in WRITES else None
            if value is None and write.type in WRITES:
                continue  # somebody else wrote it, and it is no epoch
            checks += 1
            if before is not None and (value is None or value <= before):
                seen = f"{'deleted' if value is None else value} after {before}"
                witness = write.witness(before=before, epoch=value)
                return Verdict.violated(checks, seen=seen, where=write.where, witness=witness)
            before = value
        return Verdict.of(checks)
