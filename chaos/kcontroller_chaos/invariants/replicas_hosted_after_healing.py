"""After healing every running node hosts the replicas that it is assigned, with the leader and leader epoch of ZooKeeper.

Of a partition that a live node leads, that is: as in Kafka, nobody follows a leader whom he does not know to live. What a
node hosts is what its process has recorded when it became leader or follower. Where a reassignment has left a replica of an
earlier topic of that name, nothing else can be hosted (docs/reassignment.md). A node with a log directory that has failed is
not asked.
"""

from __future__ import annotations

from kcontroller_chaos.checking import LIVENESS, Verdict
from kcontroller_chaos.history.read import History
from kcontroller_chaos.invariants import Invariant
from kcontroller_chaos.invariants._hosting import hosted, outlasting, with_failed_log_dirs


class ReplicasHostedAfterHealing(Invariant):
    name = "replicas-hosted-after-healing"
    kind = LIVENESS
    expected = "every running node hosts its assigned replicas with the leader epoch of ZooKeeper"
    source = "KAFKA-7235 (fixed in Kafka 2.2), KAFKA-1188 (fixed in Kafka 0.8.2)"

    def check(self, history: History) -> Verdict:
        if (tree := history.tree) is None:
            return Verdict.unknown("the run did not reach its end: no zk.tree")
        roles, left, failed = hosted(history), outlasting(history), with_failed_log_dirs(history)
        checks = 0
        for partition in tree["partitions"]:
            for node in partition["replicas"]:
                if partition["leader"] not in tree["brokers"] or node not in history.statuses:
                    continue
                name = f"{partition['topic']}-{partition['partition']}"
                if (node, name) in left or node in failed:
                    continue
                checks += 1
                role = roles.get((node, name), {})
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
