"""A partition's leader is -1 or in the ISR, and the ISR is within the assignment as of that write."""

from __future__ import annotations

from kcontroller_chaos.checking import SAFETY, WRITES, Verdict, is_state, is_topic, writes
from kcontroller_chaos.history.read import History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.model.cluster import NO_LEADER
from pytest_kcontroller.model.text import in_words, one_of_many
from pytest_kcontroller.zookeeper.znodes import parse_state_path


class LeaderInIsr(Invariant):
    name = "leader-in-isr"
    kind = SAFETY
    expected = "leader -1 or in the ISR, ISR within the assignment"
    source = "kafka.controller.PartitionLeaderElectionAlgorithms; KIP-497 for changes of the ISR"

    def check(self, history: History) -> Verdict:
        assigned: dict[tuple[str, int], list[int]] = {}
        checks = 0
        for write in writes(history):
            if write.type not in WRITES:
                continue
            if is_topic(write.path):
                topic = write.path.rpartition("/")[2]
                assigned |= {(topic, int(p)): replicas for p, replicas in write.json["partitions"].items()}
            if not is_state(write.path) or (tp := parse_state_path(write.path)) is None:
                continue
            checks += 1
            leader, isr = write.json["leader"], write.json["isr"]
            replicas = assigned.get((tp.topic, tp.partition), [])
            if (leader != NO_LEADER and leader not in isr) or not set(isr) <= set(replicas):
                seen = f"leader {in_words(leader)}, ISR {one_of_many(isr)}, assignment {one_of_many(replicas)}"
                witness = write.witness(leader=leader, isr=isr, assignment=replicas)
                return Verdict.violated(checks, seen=seen, where=write.where, witness=witness)
        return Verdict.of(checks)
