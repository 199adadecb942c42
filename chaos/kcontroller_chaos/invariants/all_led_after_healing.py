"""After healing every partition that has a live in-sync replica is led by a live broker."""

from __future__ import annotations

from kcontroller_chaos.checking import LIVENESS, Verdict
from kcontroller_chaos.history.read import History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.model.text import in_words, one_of_many


class AllLedAfterHealing(Invariant):
    name = "all-led-after-healing"
    kind = LIVENESS
    expected = "every partition with a live in-sync replica is led by a live broker"
    source = "kafka.controller.PartitionStateMachine.triggerOnlinePartitionStateChange (failover, broker start)"

    def check(self, history: History) -> Verdict:
        if (tree := history.tree) is None:
            return Verdict.unknown("the run did not reach its end: no zk.tree")
        live, checks = tree["brokers"], 0
        for partition in tree["partitions"]:
            if partition["topic"] in tree["deleting"]:
                continue  # nobody leads it any more
            checks += 1
            leader, isr = partition["leader"], partition["isr"]
            candidates = partition["replicas"] if isr is None else isr
            if leader in live or not any(broker in live for broker in candidates):
                continue
            name = f"{partition['topic']}-{partition['partition']}"
            seen = f"leader {in_words(leader)}, ISR {one_of_many(isr)}, live {one_of_many(live)}"
            witness = {"topic": partition["topic"], "partition": partition["partition"], "leader": leader, "live": live}
            return Verdict.violated(checks, seen=seen, where=name, witness=witness)
        return Verdict.of(checks)
