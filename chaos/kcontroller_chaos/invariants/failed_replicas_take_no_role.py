"""A broker neither leads nor follows with a replica whose log directory has failed, as long as its process lives."""

from __future__ import annotations

from kcontroller_chaos.checking import SAFETY, Verdict
from kcontroller_chaos.history.read import History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.model.history import BrokerBecomeFollower, BrokerBecomeLeader, BrokerLogDirOffline


class FailedReplicasTakeNoRole(Invariant):
    name = "failed-replicas-take-no-role"
    kind = SAFETY
    expected = "no process becomes leader or follower of what was in a log directory that it has said to have failed"
    source = "KIP-112; kafka.server.ReplicaManager (HostedPartition.Offline)"

    def check(self, history: History) -> Verdict:
        failed: dict[tuple[str, str], int] = {}
        for event in history.of(BrokerLogDirOffline):
            for name in event["partitions"]:
                failed.setdefault((str(event["writer"]), str(name)), int(event["seq"]))
        for event in history.rows(BrokerBecomeLeader, BrokerBecomeFollower):
            writer, name = str(event["writer"]), f"{event['topic']}-{event['partition']}"
            if int(event["seq"]) < failed.get((writer, name), int(event["seq"]) + 1):
                continue
            role = "leads" if event["kind"] == BrokerBecomeLeader.kind else "follows with"
            seen = f"{writer} {role} {name}, whose log directory has failed"
            witness = {"writer": writer, "seq": event["seq"], "t_us": event["t_us"], "topic": event["topic"]}
            witness |= {"partition": event["partition"], "leader_epoch": event["leader_epoch"]}
            return Verdict.violated(len(failed), seen=seen, where=f"{writer}, {name}", witness=witness)
        return Verdict.of(len(failed))
