"""What nodes host in the end, as their processes have recorded it: roles that they took, and replicas that they deleted."""

from __future__ import annotations

from kcontroller_chaos.checking import WRITES, assigned_replicas, is_topic, writes
from kcontroller_chaos.history.read import Event, History
from pytest_kcontroller.model.history import (
    BrokerBecomeFollower,
    BrokerBecomeLeader,
    BrokerLogDirOffline,
    BrokerStopReplica,
    NodeStarted,
)
from pytest_kcontroller.wire.errors import ErrorCode


def hosted(history: History) -> dict[tuple[int, str], Event]:
    """(node, partition) -> the last role that the node's last process took, if it has not deleted the replica since.

    At the end that was looked at: when a run is taken down its nodes do not all end at once, and who is left goes on.
    """
    end_us = None if history.tree is None else int(history.tree["t_us"])
    processes = {str(event["writer"]): int(event["node"]) for event in history.of(NodeStarted)}
    last = {node: writer for writer, node in processes.items()}
    roles: dict[tuple[int, str], Event] = {}
    for event in sorted(
        history.rows(BrokerBecomeLeader, BrokerBecomeFollower, BrokerStopReplica), key=lambda e: int(e["seq"])
    ):
        node, name = processes.get(str(event["writer"])), f"{event['topic']}-{event['partition']}"
        if node is None or last[node] != event["writer"] or (end_us is not None and event["t_us"] > end_us):
            continue
        if event["kind"] != BrokerStopReplica.kind:
            roles[node, name] = event
        elif event["delete"] and event["refused"] == ErrorCode.NONE:
            roles.pop((node, name), None)
    return roles


def with_failed_log_dirs(history: History) -> list[int]:
    """The nodes whose last process has said that a log directory of its has failed: it hosts nothing of what is there."""
    last = {int(event["node"]): str(event["writer"]) for event in history.of(NodeStarted)}
    failed = [str(event["writer"]) for event in history.of(BrokerLogDirOffline)]
    return [node for node, writer in last.items() if writer in failed]


def outlasting(history: History) -> list[tuple[int, str]]:
    """(node, partition) of what is hosted of a topic that has been deleted since, by a node that had no replica of it then.

    A reassignment has left it there, and nobody knows of it. If a topic is made again under that name, the node refuses it
    (INCONSISTENT_TOPIC_ID), as Kafka's brokers do.
    """
    times = {int(txn["zxid"]): int(txn["t_us"]) for txn in history.txns}
    assigned: dict[str, dict[int, list[int]]] = {}
    gone: dict[str, tuple[int, list[int]]] = {}
    for write in writes(history):
        if not is_topic(write.path):
            continue
        topic = write.path.rpartition("/")[2]
        if write.type in WRITES:
            assigned[topic] = assigned_replicas(write.data)
        else:
            last = assigned.pop(topic, {})
            gone |= {f"{topic}-{number}": (times[write.zxid], replicas) for number, replicas in last.items()}
    return [
        (node, name)
        for (node, name), role in hosted(history).items()
        if name in gone and int(role["t_us"]) < gone[name][0] and node not in gone[name][1]
    ]
