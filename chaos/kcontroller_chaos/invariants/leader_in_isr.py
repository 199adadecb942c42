"""A partition's leader is -1 or in the ISR, and nobody joins the ISR who is not in the assignment as of that write.

Whoever is taken out of the assignment leaves the ISR in a later write.
"""

from __future__ import annotations

from kcontroller_chaos.checking import SAFETY, WRITES, Verdict, assigned_replicas, is_topic, writes
from kcontroller_chaos.history.read import History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.model.cluster import NO_LEADER
from pytest_kcontroller.model.text import in_words, one_of_many
from pytest_kcontroller.zookeeper.znodes import parse_state_path


class LeaderInIsr(Invariant):
    name = "leader-in-isr"
    kind = SAFETY
    expected = "leader -1 or in the ISR, and only replicas of the partition join the ISR"
    source = "kafka.controller.PartitionLeaderElectionAlgorithms; KIP-497 for changes of the ISR"

    def check(self, history: History) -> Verdict:
        assigned: dict[str, dict[int, list[int]]] = {}
        in_sync: dict[tuple[str, int], list[int]] = {}
        checks = 0
        for write in writes(history):
            if write.type not in WRITES:
                in_sync.pop(parse_state_path(write.path) or ("", 0), None)
                continue
            if is_topic(write.path):
                assigned[write.path.rpartition("/")[2]] = assigned_replicas(write.data)
            if (tp := parse_state_path(write.path)) is None or (state := write.state) is None:
                continue
            checks += 1
            leader, isr = state["leader"], state["isr"]
            known = assigned.get(tp.topic)  # empty: it could not be understood
            replicas = known.get(tp.partition, []) if known else isr
            before, in_sync[tp] = in_sync.get(tp, []), isr
            if (leader != NO_LEADER and leader not in isr) or any(r not in replicas and r not in before for r in isr):
                seen = f"leader {in_words(leader)}, ISR {one_of_many(isr)}, assignment {one_of_many(replicas)}"
                witness = write.witness(leader=leader, isr=isr, assignment=replicas)
                return Verdict.violated(checks, seen=seen, where=write.where, witness=witness)
        return Verdict.of(checks)
