"""Reading the cluster out of ZooKeeper, with the watches that tell of its changes. One corrupt znode costs only itself."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import replace

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.fences import fence_of_topics
from pytest_kcontroller.model.cluster import TopicPartition, TopicState
from pytest_kcontroller.runtime.holds import BEFORE_TOPIC_WRITE, Holds
from pytest_kcontroller.zookeeper.session import SetData
from pytest_kcontroller.zookeeper.store import Store
from pytest_kcontroller.zookeeper.znodes import (
    BROKER_IDS,
    TOPICS,
    CorruptZnodeError,
    broker_path,
    decode_broker,
    decode_topic,
    encode_topic,
    topic_path,
)


async def load_brokers(context: Context, store: Store, corrupt: Callable[[str], None]) -> None:
    """Fills `brokers`; children and every registration are watched."""
    children = await store.children(BROKER_IDS, watch=True)
    ids = sorted(int(name) for name in (children.names if children else ()) if name.isdigit())
    nodes = await store.get_watched([broker_path(broker) for broker in ids])
    for broker, node in zip(ids, nodes, strict=True):
        if node is None:
            continue  # gone since: its own event will come
        try:
            context.brokers[broker] = decode_broker(broker, node.data, node.stat.czxid)
        except CorruptZnodeError as bad:
            corrupt(str(bad))


async def load_topics(context: Context, store: Store, holds: Holds, corrupt: Callable[[str], None]) -> tuple[str, ...]:
    """Fills `assignments` and `topic_ids`; gives an id to topics that have none (KIP-516).

    Returns all topics by name, those too whose znode is corrupt: they are not gone. Raises FencedError.
    """
    children = await store.children(TOPICS, watch=True)
    names = children.names if children else ()
    nodes = await store.get_watched([topic_path(name) for name in names])
    without_id: list[TopicState] = []
    for name, node in zip(names, nodes, strict=True):
        if node is None:
            continue
        try:
            topic = decode_topic(name, node.data)
        except CorruptZnodeError as bad:
            corrupt(str(bad))
            continue
        if topic.topic_id is None:
            topic = replace(topic, topic_id=_new_id(name, node.stat.czxid))
            without_id.append(topic)
        context.topic_ids[name] = topic.topic_id or ""
        context.assignments.update({TopicPartition(name, p): a for p, a in topic.partitions.items()})
    if without_id:
        await holds.reach(BEFORE_TOPIC_WRITE)
        # Any version: a blind overwrite behind the fence, as Kafka's.
        ops = [SetData(topic_path(topic.name), encode_topic(topic)) for topic in without_id]
        await store.write_each(ops, fence=fence_of_topics(context))
    return names


def _new_id(topic: str, czxid: int) -> str:
    """16 bytes that no other topic has (a name is created once per zxid), and the same again after a lost answer."""
    digest = hashlib.sha256(f"{topic}/{czxid}".encode()).digest()[:16]
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
