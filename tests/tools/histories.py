"""Events as a run leaves them, for tests of invariants; and a whole history in which every invariant holds.

Times, zxids and numbers of lines are small and in order; of a node the writer is `node-1`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

STATE = "/brokers/topics/t/partitions/0/state"


def write(zxid: int, session: str, **data: Any) -> dict[str, Any]:
    """One transaction of ZooKeeper's log that sets `ops` (path -> a text, or a value for JSON)."""
    ops = [
        {"type": "set", "path": p, "data": v if isinstance(v, str) else json.dumps(v)} for p, v in data["ops"].items()
    ]
    return {"writer": "zookeeper", "seq": zxid, "t_us": zxid, "kind": "zk.txn", "zxid": zxid, "session": session} | {
        "type": "multi", "cxid": 1, "ops": ops
    }  # fmt: skip


def elect(zxid: int, session: str, epoch: int) -> dict[str, Any]:
    return write(zxid, session, ops={"/controller": {"brokerid": 1}, "/controller_epoch": str(epoch)})


def state(zxid: int, session: str, epoch: int, leader: int = 1, isr: Sequence[int] = (1, 2)) -> dict[str, Any]:
    value = {"controller_epoch": epoch, "leader": leader, "isr": list(isr), "leader_epoch": 0}
    return write(zxid, session, ops={STATE: value})


def engine(kind: str, **fields: Any) -> dict[str, Any]:
    return {"writer": "engine", "seq": 0, "t_us": 99, "kind": kind, **fields}


def node(seq: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"writer": "node-1", "seq": seq, "t_us": seq, "kind": kind, **fields}


def register(zxid: int, session: str, broker: int) -> dict[str, Any]:
    op = {"type": "create", "path": f"/brokers/ids/{broker}", "data": "{}"}
    return {**write(zxid, session, ops={}), "ops": [op, {**op, "type": "set"}]}


def unregister(zxid: int, session: str, broker: int) -> dict[str, Any]:
    return ended(zxid, session, f"/brokers/ids/{broker}")


def made(zxid: int, session: str, path: str, **value: Any) -> dict[str, Any]:
    """The znode is new."""
    return {**write(zxid, session, ops={}), "ops": [{"type": "create", "path": path, "data": json.dumps(value)}]}


def ended(zxid: int, session: str, *paths: str) -> dict[str, Any]:
    """The znodes have been deleted."""
    return {**write(zxid, session, ops={}), "ops": [{"type": "delete", "path": path, "data": None} for path in paths]}


def follow(seq: int, *, leader_epoch: int = 0, broker_epoch: int = 1) -> dict[str, Any]:
    fields = {"topic": "t", "partition": 0, "leader": 1, "epoch": 2}
    return node(seq, "broker.become-leader", leader_epoch=leader_epoch, broker_epoch=broker_epoch, **fields)


def stop(seq: int, *, leader_epoch: int = 0, refused: int = 0, delete: bool = True, topic: str = "t") -> dict[str, Any]:
    """The node is told to stop a replica."""
    told = {"topic": topic, "partition": 0, "leader_epoch": leader_epoch, "delete": delete, "refused": refused}
    return node(seq, "broker.stop-replica", epoch=2, broker_epoch=1, **told)


def metadata(**changed: Any) -> dict[str, Any]:
    brokers, known = {"1": "h:1", "2": "h:2"}, {"leader": 1, "leader_epoch": 0, "isr": [1, 2], "partition_epoch": 1}
    told = {"controller": 1, "brokers": brokers, "partitions": {"t-0": {**known, **changed}}}
    return engine("node.metadata", node=1, metadata=told)


TOPIC = write(
    0, "0x9", ops={f"/brokers/topics/{t}": {"partitions": {"0": on}} for t, on in (("t", [1, 2]), ("u", [3]))}
)
"""The one broker of `u` is dead all the time."""
STATUS = engine("node.status", node=1, active=True, session="0xb")
LED = {"topic": "t", "partition": 0, "replicas": [1, 2], "leader": 1, "isr": [1, 2], "leader_epoch": 0, "version": 1}
LED |= {"adding": [], "removing": []}
TREE = engine(
    "zk.tree", controller=1, controller_owner="0xb", brokers=[1, 2], partitions=[LED], electing=[], deleting=[]
)
ENDED = node(5, "topic-deletion.complete", epoch=2, topics=["gone"], replicas={"gone-0": [1]})
NODE = (
    node(0, "node.started", node=1, pid=1),
    node(1, "zk.state", state="connected", session="0xb"),
    follow(2),
    {**follow(3), "topic": "gone"},
    stop(4, topic="gone"),
    node(4, "replicas.deleted", broker=1, epoch=2, topics={"gone": {"partition": [0]}}),
    ENDED,
    node(5, "controller.failover", epoch=2, partitions=1, duration_us=1, zxid=5),
    node(6, "broker.answered-client", api="CreateTopics", znode="/brokers/topics/t", holds={"partitions": 1}),
    node(6, "controller.controlled-shutdown", broker=9, broker_epoch=1, epoch=1, relieved={"t-0": 0}, zxid=1),
)
REGISTERED = (register(1, "0xb", 1), register(1, "0xc", 2))
ENTRY = {"topic": "t", "partition": 0, "replicas": [1, 2]}
ASKED = write(1, "0x9", ops={"/admin/reassign_partitions": {"partitions": [ENTRY]}})
WRITTEN = (ASKED, elect(2, "0xa", 1), state(3, "0xa", 1), elect(4, "0xb", 2), state(5, "0xb", 2))
GONE, CONFIG, MARKER = "/brokers/topics/gone", "/config/topics/gone", "/admin/delete_topics/gone"
DELETED = (
    made(0, "0x9", GONE, partitions={"0": [1]}, topic_id="A"),
    made(0, "0x9", CONFIG),
    ended(5, "0xb", GONE, CONFIG, MARKER),
)
FAILED = node(
    3, "broker.log-dir-offline", directory="log-dir-0", partitions=["t-0"], file="f", code="EIO", why="it is broken"
) | {"writer": "node-9"}
GOOD = (TOPIC, *REGISTERED, *WRITTEN, *DELETED, *NODE, FAILED, STATUS, metadata(), TREE)
"""Every invariant finds something to check in it, and holds. One that would find nothing: add here what it looks at."""
