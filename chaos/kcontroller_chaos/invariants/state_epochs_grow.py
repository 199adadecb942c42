"""A partition's epochs never fall, every new leader has a greater leader epoch, and no epoch comes from the future."""

from __future__ import annotations

from typing import Any

from kcontroller_chaos.checking import SAFETY, WRITES, Verdict, is_state, writes
from kcontroller_chaos.history.read import History
from kcontroller_chaos.invariants import Invariant


class StateEpochsGrow(Invariant):
    name = "state-epochs-grow"
    kind = SAFETY
    expected = "leader epoch and controller epoch never fall, a new leader has a greater leader epoch"
    source = "kafka.controller.PartitionStateMachine.doElectLeaderForPartitions, kafka.api.LeaderAndIsr"

    def check(self, history: History) -> Verdict:
        before: dict[str, dict[str, Any]] = {}
        checks = 0
        for write in writes(history):
            if not is_state(write.path):
                continue
            if write.type not in WRITES:
                before.pop(write.path, None)  # deleted: it begins anew
                continue
            if (now := write.state) is None:
                continue
            checks += 1
            if (seen := _wrong(before.get(write.path), now, write.epoch)) is not None:
                witness = write.witness(before=before.get(write.path), now=now, newest_epoch=write.epoch)
                return Verdict.violated(checks, seen=seen, where=write.where, witness=witness)
            before[write.path] = now
        return Verdict.of(checks)


def _wrong(before: dict[str, Any] | None, now: dict[str, Any], newest_epoch: int) -> str | None:
    if now["controller_epoch"] > newest_epoch:
        return f"controller epoch {now['controller_epoch']}, but the newest election wrote {newest_epoch}"
    if before is None:
        return None
    for name in ("leader_epoch", "controller_epoch"):
        if now[name] < before[name]:
            return f"{name} {now[name]} after {before[name]}"
    if now["leader"] != before["leader"] and now["leader_epoch"] == before["leader_epoch"]:
        return f"leader {now['leader']} after {before['leader']}, both with leader epoch {now['leader_epoch']}"
    return None
