"""After a newer controller epoch, no write by a session that was elected with an older one is accepted, or gets past the
check of the epoch: what stops it behind that, a znode that is gone already, is only luck."""

from __future__ import annotations

from kcontroller_chaos.checking import SAFETY, Verdict, Write, is_answered, is_state, is_topic, terms, writes
from kcontroller_chaos.history.read import Event, History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.zookeeper.config_znodes import CONFIG, TOPIC_CONFIGS
from pytest_kcontroller.zookeeper.znodes import CONTROLLER_EPOCH, REASSIGN_PARTITIONS


class NoStaleEpochWrite(Invariant):
    name = "no-stale-epoch-write"
    kind = SAFETY
    expected = (
        "no accepted write or deletion of a state, topic, config or request by a session elected with an older epoch"
    )
    source = "KAFKA-6082 (fixed in Kafka 2.1)"

    def check(self, history: History) -> Verdict:
        checks = 0
        for write in writes(history):
            if write.own is None or not _is_controllers(write):
                continue
            checks += 1
            if write.own < write.epoch:
                seen = f"{write.session}, elected with epoch {write.own}, wrote after epoch {write.epoch}"
                witness = write.witness(epoch=write.own, newest_epoch=write.epoch)
                return Verdict.violated(checks, seen=seen, where=write.where, witness=witness)
        for txn, epoch, own in terms(history):
            if own is not None and own < epoch and _has_passed(txn):
                session, zxid = str(txn["session"]), hex(int(txn["zxid"]))
                seen = f"{session}, elected with epoch {own}, got past the check of the epoch after epoch {epoch}"
                witness = {"zxid": zxid, "session": session, "path": CONTROLLER_EPOCH}
                witness |= {"epoch": own, "newest_epoch": epoch}
                return Verdict.violated(checks, seen=seen, where=f"zxid {zxid}, {CONTROLLER_EPOCH}", witness=witness)
        return Verdict.of(checks)


def _is_controllers(write: Write) -> bool:
    if write.type == "delete" and (is_answered(write.path) or write.path.startswith(f"{CONFIG}/{TOPIC_CONFIGS}/")):
        return True
    return is_state(write.path) or is_topic(write.path) or write.path == REASSIGN_PARTITIONS


def _has_passed(txn: Event) -> bool:
    """Also in a multi that was refused: what comes before the operation that failed is in ZooKeeper's log."""
    return any(op["type"] == "check" and op["path"] == CONTROLLER_EPOCH for op in txn.get("ops") or ())
