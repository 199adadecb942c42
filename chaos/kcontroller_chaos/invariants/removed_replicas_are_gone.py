"""A broker that is told to delete a replica does it, unless the order is older than the replica, by its leader epoch, or the
replica's log directory has failed.

Nobody asks again after a reassignment: a replica that is not deleted then is there for ever, and nobody knows of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from kcontroller_chaos.checking import SAFETY, Verdict
from kcontroller_chaos.history.read import Event, History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.model.cluster import EPOCH_DURING_DELETE
from pytest_kcontroller.model.history import (
    BrokerBecomeFollower,
    BrokerBecomeLeader,
    BrokerLogDirFailed,
    BrokerLogDirOffline,
    BrokerStopReplica,
)
from pytest_kcontroller.wire.errors import ErrorCode


class RemovedReplicasAreGone(Invariant):
    name = "removed-replicas-are-gone"
    kind = SAFETY
    expected = "no replica outlives an order to delete it that is as new as the replica"
    source = "KAFKA-13972 (fixed in Kafka 3.5)"

    def check(self, history: History) -> Verdict:
        hosted: dict[tuple[str, str], int] = {}
        failed: dict[str, int] = {}
        for event in history.of(BrokerLogDirOffline, BrokerLogDirFailed):
            failed.setdefault(str(event["writer"]), int(event["seq"]))
        checks = 0
        events = history.rows(BrokerBecomeLeader, BrokerBecomeFollower, BrokerStopReplica)
        for event in sorted(events, key=lambda event: int(event["seq"])):
            replica, epoch = (str(event["writer"]), f"{event['topic']}-{event['partition']}"), event["leader_epoch"]
            if event["kind"] != BrokerStopReplica.kind:
                hosted[replica] = epoch
            elif event["delete"] and (known := hosted.get(replica)) is not None and not _out_of_reach(event, failed):
                checks += 1
                if event["refused"] == ErrorCode.NONE:
                    del hosted[replica]
                elif epoch >= known or epoch == EPOCH_DURING_DELETE:
                    return _violated(checks, event, known)
        return Verdict.of(checks)


def _out_of_reach(order: Event, failed: Mapping[str, int]) -> bool:
    """Whether it was refused as a broker may that has said before that a log directory of its has failed; `failed`: writer
    -> seq of that."""
    since = failed.get(str(order["writer"]), int(order["seq"]))
    return bool(order["refused"] == ErrorCode.KAFKA_STORAGE_ERROR and since < int(order["seq"]))


def _violated(checks: int, order: Event, known: int) -> Verdict:
    name = f"{order['topic']}-{order['partition']}"
    seen = (
        f"{order['writer']} keeps {name} (leader epoch {known}): it refused to delete it with leader epoch "
        f"{order['leader_epoch']} (error {order['refused']})"
    )
    witness = {"node": order["writer"], "topic": order["topic"], "partition": order["partition"]}
    witness |= {"leader_epoch": order["leader_epoch"], "hosted": known, "error": order["refused"]}
    return Verdict.violated(checks, seen=seen, where=f"{order['writer']}, {name}", witness=witness)
