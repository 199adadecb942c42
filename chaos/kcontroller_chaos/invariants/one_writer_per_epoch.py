"""Every state write of a controller epoch comes from the session that was elected with it.

A state znode keeps the epoch of the controller that wrote it last; in ZooKeeper mode with AlterPartition (KIP-497) only
controllers write it.
"""

from __future__ import annotations

from kcontroller_chaos.checking import SAFETY, WRITES, Verdict, is_state, writes
from kcontroller_chaos.history.read import History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.zookeeper.znodes import CONTROLLER_EPOCH


class OneWriterPerEpoch(Invariant):
    name = "one-writer-per-epoch"
    kind = SAFETY
    expected = "the writer of a state with controller epoch e is the session whose election wrote e"
    source = "KAFKA-6082; KIP-497: with AlterPartition only controllers write states"

    def check(self, history: History) -> Verdict:
        owner: dict[int, str] = {}
        checks = 0
        for write in writes(history):
            if write.path == CONTROLLER_EPOCH and write.own is not None:
                owner.setdefault(write.epoch, write.session)
            if not is_state(write.path) or write.type not in WRITES or (state := write.state) is None:
                continue
            checks += 1
            epoch = state["controller_epoch"]
            if owner.get(epoch) != write.session:
                seen = f"epoch {epoch} belongs to {owner.get(epoch, 'nobody')}, {write.session} wrote with it"
                witness = write.witness(epoch=epoch, owner=owner.get(epoch))
                return Verdict.violated(checks, seen=seen, where=write.where, witness=witness)
        return Verdict.of(checks)
