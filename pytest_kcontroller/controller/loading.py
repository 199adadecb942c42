"""Reading the cluster out of ZooKeeper, with the watches that tell of its changes. One corrupt znode costs only itself."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import replace

from pytest_kcontroller.controller.fences import fence_of_topics
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.model.cluster import Broker, TopicState
from pytest_kcontroller.model.turns import Breather
from pytest_kcontroller.runtime.holds import BEFORE_TOPIC_WRITE
from pytest_kcontroller.zookeeper.session import SetData
from pytest_kcontroller.zookeeper.znodes import (
    BROKER_IDS,
    DELETE_TOPICS,
    TOPICS,
    CorruptZnodeError,
    broker_of,
    broker_path,
    decode_broker,
    decode_topic,
    encode_topic,
    topic_path,
)


async def registered_brokers(term: Term) -> dict[int, Broker]:
    """By id, ascending. All are read, since a bounced one differs from before in nothing but its epoch; all are watched."""
    children = await term.store.children(BROKER_IDS, watch=True)
    ids = (broker_of(name) for name in (children.names if children else ()))
    return await read_brokers(term, sorted(broker for broker in ids if broker is not None))


async def read_brokers(term: Term, ids: Sequence[int]) -> dict[int, Broker]:
    """Those of `ids` that are registered; each is watched."""
    brokers: dict[int, Broker] = {}
    nodes = await term.store.get_watched([broker_path(broker) for broker in ids])
    for broker, node in zip(ids, nodes, strict=True):
        if node is None:
            continue  # gone since: its own event will come
        try:
            brokers[broker] = decode_broker(broker, node.data, node.stat.czxid)
        except CorruptZnodeError as bad:
            term.corrupt(str(bad))
    return brokers


async def topic_names(term: Term) -> Sequence[str]:
    """All topics by name, those too whose znode is corrupt: they are not gone. Creation and deletion are watched."""
    children = await term.store.children(TOPICS, watch=True)
    return children.names if children else ()


async def topics_to_delete(term: Term) -> Sequence[str]:
    """The names of the topics that somebody wants to be deleted; new ones are watched."""
    children = await term.store.children(DELETE_TOPICS, watch=True)
    return children.names if children else ()


async def existing_topics(term: Term, names: Sequence[str]) -> list[str]:
    """Those of `names` that have a znode, whatever it holds."""
    nodes = await term.store.get_many([topic_path(name) for name in names])
    return [name for name, node in zip(names, nodes, strict=True) if node is not None]


async def read_topics(term: Term, names: Sequence[str]) -> list[TopicState]:
    """Those of `names` that can be read; each is watched. Gives an id to topics that have none (KIP-516).

    A known topic keeps its id: a tool of before Kafka 2.8 that adds partitions has dropped it (KAFKA-14190). Raises
    FencedError.
    """
    topics: list[TopicState] = []
    without_id: list[TopicState] = []
    breather = Breather()
    nodes = await term.store.get_watched([topic_path(name) for name in names])
    for name, node in zip(names, nodes, strict=True):
        if node is None:
            continue
        try:
            topic = decode_topic(name, node.data)
        except CorruptZnodeError as bad:
            term.corrupt(str(bad))
            continue
        if topic.topic_id is None:
            topic = replace(topic, topic_id=term.context.topic_id(name) or _new_id(name, node.stat.czxid))
            without_id.append(topic)
        topics.append(topic)
        await breather.after(len(topic.partitions))
    if without_id:
        await term.runtime.holds.reach(BEFORE_TOPIC_WRITE)
        # Any version: a blind overwrite behind the fence, as Kafka's.
        ops = [SetData(topic_path(topic.name), encode_topic(topic)) for topic in without_id]
        await term.store.write_each(ops, fence=fence_of_topics(term.context))
    return topics


def _new_id(topic: str, czxid: int) -> str:
    """16 bytes that no other topic has (a name is created once per zxid), and the same again after a lost answer."""
    digest = hashlib.sha256(f"{topic}/{czxid}".encode()).digest()[:16]
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
