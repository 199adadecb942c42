"""After healing nothing is left of a topic that somebody wanted to be deleted, once all its replicas are on running nodes.

Neither its marker and its znodes nor its config, by ZooKeeper's log, nor a replica on a running node, by the node's record.
A topic that has been made again under its name is another one.
"""

from __future__ import annotations

from collections.abc import Mapping

from kcontroller_chaos.checking import LIVENESS, WRITES, Verdict, assigned_replicas, is_topic, writes
from kcontroller_chaos.history.read import Event, History
from kcontroller_chaos.invariants import Invariant
from kcontroller_chaos.invariants._hosting import hosted
from pytest_kcontroller.zookeeper.config_znodes import TOPIC_CONFIGS, config_path
from pytest_kcontroller.zookeeper.znodes import topic_path


class DeletedTopicsAreGone(Invariant):
    name = "deleted-topics-are-gone"
    kind = LIVENESS
    expected = "no marker, znode, config or replica of a topic that was to be deleted, once all its replicas live"
    source = "KAFKA-9946 (fixed in Kafka 2.6), KAFKA-1681 (fixed in Kafka 0.9)"

    def check(self, history: History) -> Verdict:
        if (tree := history.tree) is None:
            return Verdict.unknown("the run did not reach its end: no zk.tree")
        deleted = _deleted(history)
        left = _undeleted(tree) | _left_in_zookeeper(history, deleted)
        left |= _left_on_nodes(history, tree, deleted)
        checks = len(deleted.keys() | dict.fromkeys(tree["deleting"]).keys())
        for topic, seen in sorted(left.items()):
            witness = {"topic": topic, "deleted_at": hex(deleted[topic]) if topic in deleted else None}
            return Verdict.violated(checks, seen=seen, where=f"topic {topic} at the end", witness=witness)
        return Verdict.of(checks)


def _deleted(history: History) -> dict[str, int]:
    """Topic -> the zxid at which it was deleted last."""
    return {
        write.path.rpartition("/")[2]: write.zxid
        for write in writes(history)
        if is_topic(write.path) and write.type == "delete"
    }


def _undeleted(tree: Event) -> dict[str, str]:
    left: dict[str, str] = {}
    for topic in tree["deleting"]:
        replicas = {replica for now in tree["partitions"] if now["topic"] == topic for replica in now["replicas"]}
        if all(replica in tree["brokers"] for replica in replicas):
            left[topic] = f"{topic} is still to be deleted, and its replicas are on running nodes: {sorted(replicas)}"
    return left


def _left_in_zookeeper(history: History, deleted: Mapping[str, int]) -> dict[str, str]:
    """Configs of before the deletion. A later one may be that of a topic that could not be made again after all."""
    made: dict[str, int] = {}
    for write in writes(history):
        if write.type == "delete":
            made.pop(write.path, None)
        elif write.type != "set":
            made[write.path] = write.zxid
    return {
        topic: f"{path} is left of {topic}"
        for topic, zxid in deleted.items()
        if made.get(path := config_path(TOPIC_CONFIGS, topic), zxid) < zxid and topic_path(topic) not in made
    }


def _left_on_nodes(history: History, tree: Event, deleted: Mapping[str, int]) -> dict[str, str]:
    """A replica that was not the topic's any more is what a reassignment has left: nobody waits until those are deleted."""
    there, assigned = {now["topic"] for now in tree["partitions"]}, _assigned_last(history)
    left: dict[str, str] = {}
    for (node, partition), role in sorted(hosted(history).items(), key=lambda entry: entry[0]):
        topic = role["topic"]
        if node not in assigned.get(partition, [node]):
            continue
        if node in tree["brokers"] and topic in deleted and topic not in there:
            left.setdefault(topic, f"node {node} still hosts {partition}, and ZooKeeper has no topic {topic}")
    return left


def _assigned_last(history: History) -> dict[str, list[int]]:
    """Partition -> its replicas by the last write of its topic, which may have been deleted since."""
    return {
        f"{write.path.rpartition('/')[2]}-{number}": replicas
        for write in writes(history)
        if is_topic(write.path) and write.type in WRITES
        for number, replicas in assigned_replicas(write.data).items()
    }
