"""After healing every running node hosts the replicas that it is assigned, with the leader and leader epoch of ZooKeeper.

What a node hosts is what its process has recorded when it became leader or follower.
"""

from __future__ import annotations

from kcontroller_chaos.checking import LIVENESS, Verdict
from kcontroller_chaos.history.read import Event, History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.model.history import BrokerBecomeFollower, BrokerBecomeLeader, NodeStarted


class ReplicasHostedAfterHealing(Invariant):
    name = "replicas-hosted-after-healing"
    kind = LIVENESS
    expected = "every running node hosts its assigned replicas with the leader epoch of ZooKeeper"
    source = "KAFKA-7235 (fixed in Kafka 2.2), KAFKA-1188 (fixed in Kafka 0.8.2)"

    def check(self, history: History) -> Verdict:
        if (tree := history.tree) is None:
            return Verdict.unknown("the run did not reach its end: no zk.tree")
        hosted = _hosted(history)
        checks = 0
        for partition in tree["partitions"]:
            for node in partition["replicas"]:
                if partition["leader"] is None or node not in history.statuses:
                    continue
                checks += 1
                name = f"{partition['topic']}-{partition['partition']}"
                role = hosted.get((node, name), {})
                if all(role.get(key) == partition[key] for key in ("leader", "leader_epoch")):
                    continue
                has = f"leader {role['leader']} with leader epoch {role['leader_epoch']}" if role else "nothing"
                seen = (
                    f"node {node} hosts {has} for {name}, "
                    f"ZooKeeper holds leader {partition['leader']} with leader epoch {partition['leader_epoch']}"
                )
                witness = {"node": node, "topic": partition["topic"], "partition": partition["partition"]}
                witness |= {"leader_epoch": partition["leader_epoch"], "hosted": role.get("leader_epoch")}
                where = f"node {node} at the end"
                return Verdict.violated(checks, seen=seen, where=where, witness=witness)
        return Verdict.of(checks)


def _hosted(history: History) -> dict[tuple[int, str], Event]:
    """(node, partition) -> the last role that the node's last process took."""
    processes = {str(event["writer"]): int(event["node"]) for event in history.of(NodeStarted)}
    last = {node: writer for writer, node in processes.items()}
    roles: dict[tuple[int, str], Event] = {}
    for event in sorted(history.rows(BrokerBecomeLeader, BrokerBecomeFollower), key=lambda e: int(e["seq"])):
        node = processes.get(str(event["writer"]))
        if node is not None and last[node] == event["writer"]:
            roles[node, f"{event['topic']}-{event['partition']}"] = event
    return roles
