"""After healing no request for a preferred election waits in ZooKeeper: each has been answered, whatever came of it."""

from __future__ import annotations

from kcontroller_chaos.checking import LIVENESS, Verdict
from kcontroller_chaos.history.read import History
from kcontroller_chaos.invariants import Invariant


class PreferredElectionsEnd(Invariant):
    name = "preferred-elections-end"
    kind = LIVENESS
    expected = "/admin/preferred_replica_election is gone"
    source = "kafka.controller.KafkaController.removePartitionsFromPreferredReplicaElection"

    def check(self, history: History) -> Verdict:
        if (tree := history.tree) is None:
            return Verdict.unknown("the run did not reach its end: no zk.tree")
        if waiting := tree["electing"]:
            seen = f"it is there, for {waiting[0]}" + (f" and {len(waiting) - 1} others" if len(waiting) > 1 else "")
            return Verdict.violated(1, seen=seen, where=waiting[0], witness={"partitions": waiting})
        return Verdict.of(1)
