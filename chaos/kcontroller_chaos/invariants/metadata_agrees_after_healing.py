"""After healing every running node's metadata is what ZooKeeper holds: who is live, who leads what, with which ISR."""

from __future__ import annotations

from kcontroller_chaos.checking import LIVENESS, Verdict
from kcontroller_chaos.history.read import History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.cluster.tree import metadata_pairs
from pytest_kcontroller.model.history import NodeStarted
from pytest_kcontroller.model.text import in_words


class MetadataAgreesAfterHealing(Invariant):
    name = "metadata-agrees-after-healing"
    kind = LIVENESS
    expected = "every running node was told the brokers and partition states that ZooKeeper holds"
    source = "kafka.controller.ControllerBrokerRequestBatch (UpdateMetadata to every live broker); KAFKA-4443"

    def check(self, history: History) -> Verdict:
        tree = history.tree
        told = history.metadata.values()
        if tree is not None and not told and not history.of(NodeStarted):
            return Verdict.of(0)  # no node of ours, so none that could say it
        if tree is None or not told:
            return Verdict.unknown("the run did not reach its end: no node.metadata or zk.tree")
        checks = 0
        for event in told:
            for what, expected, seen in metadata_pairs(tree, event["metadata"]):
                checks += 1
                if expected != seen:
                    said = (
                        f"node {event['node']} was told {in_words(seen)} of {what}; ZooKeeper has {in_words(expected)}"
                    )
                    witness = {"node": event["node"], "what": what, "told": seen, "zookeeper": expected}
                    return Verdict.violated(checks, seen=said, where=what, witness=witness)
        return Verdict.of(checks)
