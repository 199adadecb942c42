"""What scenes have in common: brokers by the names that vectors give them, and looks at what is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_kcontroller.model.cluster import Assignment, LeaderAndIsr, TopicPartition
from pytest_kcontroller.stubs.broker import StubBroker
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from pytest_kcontroller.zookeeper.session import NoNodeError
from pytest_kcontroller.zookeeper.znodes import REASSIGN_PARTITIONS, decode_state, decode_topic, state_path, topic_path
from tests.fidelity.scenarios.scene import FIRST_STUB, Scene
from tests.fidelity.stage import error_name

NEXT = "fidelity-topics"


class Cast:
    """Which stub plays which broker of a vector: `o`, `c`, 0, 100. Names that mean a broker that is down end in `(down)`."""

    def __init__(self, scene: Scene, names: Iterable[Any]) -> None:
        self._stub = {name: FIRST_STUB + place for place, name in enumerate(dict.fromkeys(map(_plain, names)))}
        self._name = {stub: name for name, stub in self._stub.items()}
        self.scene = scene

    def stub(self, name: Any) -> int:
        return self._stub[_plain(name)]

    def stubs(self, names: Iterable[Any]) -> list[int]:
        return [self.stub(name) for name in names]

    def name(self, stub: int) -> Any:
        """-1: nobody."""
        return self._name.get(stub, stub)

    def names(self, stubs: Iterable[int]) -> list[Any]:
        return [self.name(stub) for stub in stubs]


def _plain(name: Any) -> Any:
    return name.partition(" ")[0] if isinstance(name, str) else name


class Topics:
    """Each scene has topics of its own: names that nobody has used before, on a ZooKeeper that several scenes share."""

    def __init__(self) -> None:
        self._count = 0

    def new(self) -> str:
        self._count += 1
        return f"topic{self._count}"


TOPICS = Topics()


async def create(scene: Scene, replicas: Sequence[Sequence[int]], name: str | None = None) -> str:
    topic = name or TOPICS.new()
    await scene.create(topic, replicas)
    await scene.settle()
    return topic


async def find_state(scene: Scene, topic: str, partition: int = 0) -> LeaderAndIsr | None:
    tp = TopicPartition(topic, partition)
    try:
        node = await scene.node(state_path(tp))
    except NoNodeError:
        return None
    return decode_state(tp, node.data, node.stat.version)


async def state_of(scene: Scene, topic: str, partition: int = 0) -> LeaderAndIsr:
    state = await find_state(scene, topic, partition)
    assert state is not None, f"{topic}-{partition} has no state"
    return state


async def assignment_of(scene: Scene, topic: str, partition: int = 0) -> Assignment:
    return decode_topic(topic, (await scene.node(topic_path(topic))).data).partitions[partition]


async def exists(scene: Scene, path: str) -> bool:
    try:
        await scene.node(path)
    except NoNodeError:
        return False
    return True


async def catch_up(scene: Scene, topic: str, partition: int = 0) -> None:
    """The leader takes all live replicas into the ISR; where there is none, nothing happens."""
    state = await find_state(scene, topic, partition)
    if state is None or state.leader < 0:
        return
    replicas = (await assignment_of(scene, topic, partition)).replicas
    live = [replica for replica in replicas if scene.stubs[replica].registered]
    joining = [replica for replica in live if replica not in state.isr]
    if joining:
        await scene.alter(topic, partition, [*state.isr, *joining])
        await scene.settle()


async def reassign_by_request(
    scene: Scene, targets: Mapping[tuple[str, int], Sequence[int] | None]
) -> dict[tuple[str, int], str | None]:
    """Partition -> the error's name; None: accepted. A target None cancels."""
    topics: dict[str, list[ReassignablePartition]] = {}
    for (topic, partition), target in targets.items():
        replicas = None if target is None else tuple(target)
        topics.setdefault(topic, []).append(ReassignablePartition(partition_index=partition, replicas=replicas))
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name=name, partitions=partitions) for name, partitions in topics.items()]
    )
    answer = await scene.ask(request, version=0)
    await scene.settle()
    if answer.error_code != ErrorCode.NONE:
        return dict.fromkeys(targets, error_name(answer.error_code))
    return {
        (topic.name, partition.partition_index): error_name(partition.error_code)
        for topic in answer.responses
        for partition in topic.partitions
    }


async def reassign_by_znode(scene: Scene, targets: Mapping[tuple[str, int], Sequence[int]]) -> None:
    await scene.reassign([(topic, partition, replicas) for (topic, partition), replicas in targets.items()])
    await scene.settle()


async def request_gone(scene: Scene) -> bool:
    return not await exists(scene, REASSIGN_PARTITIONS)


async def everybody_back(scene: Scene) -> None:
    """For the next scene."""
    for stub in scene.stubs.values():
        if not stub.registered:
            await stub.start()
    await scene.settle()


def deleted_on(stub: StubBroker, topic: str) -> list[int]:
    """The partitions of a topic that it was told to delete."""
    return sorted(
        tp.partition
        for request in stub.requests
        for tp, state in request.states
        if tp.topic == topic and getattr(state, "delete_partition", False)
    )
