"""Asks for elections: for preferred ones as tools do that write znodes (kafka.admin.PreferredReplicaLeaderElectionCommand,
2.3), for unclean ones as admin clients do (KIP-460), since no znode is for them.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_kcontroller.cluster.contract import REQUEST_S, Cluster
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.tree import Tree
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.model.election import ElectionType
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import ElectLeadersRequest, ElectLeadersResponse, ElectLeadersTopic
from pytest_kcontroller.zookeeper.partition_lists import PREFERRED_ELECTION, encode_partitions
from pytest_kcontroller.zookeeper.session import Create, NodeExistsError, ZkSession


def meant(tree: Tree, topic: str) -> list[TopicPartition]:
    """Those of the topic, of all for an empty name. Raises UsageError if there is none."""
    partitions = [tp for tp in sorted(tree.partitions) if topic in ("", tp.topic)]
    if not partitions:
        raise UsageError(f"there is no topic {topic!r}" if topic else "there is no topic")
    return partitions


async def ask_for_preferred(session: ZkSession, *, partitions: Sequence[TopicPartition]) -> None:
    """Raises UsageError if somebody's request is there already: the controller has not answered it yet."""
    try:
        await session.submit(Create(PREFERRED_ELECTION, encode_partitions(partitions)))
    except NodeExistsError:
        raise UsageError(
            "a preferred election is under way", hint=f"wait until the controller has deleted {PREFERRED_ELECTION}"
        ) from None


async def ask_for_unclean(cluster: Cluster, partitions: Sequence[TopicPartition]) -> None:
    """Asks the controller, over the link from its node to itself. Those that somebody live leads keep their leader.

    Raises UsageError if one of the others cannot get one, or if there is no controller; EnvironmentFailure if it did not
    answer.
    """
    topics: dict[str, list[int]] = {}
    for tp in partitions:
        topics.setdefault(tp.topic, []).append(tp.partition)
    asked = [ElectLeadersTopic(topic=topic, partitions=tuple(numbers)) for topic, numbers in topics.items()]
    request = ElectLeadersRequest(
        election_type=int(ElectionType.UNCLEAN), topic_partitions=asked, timeout_ms=round(scaled(REQUEST_S) * 1000)
    )
    _check(await cluster.ask_controller(request))


def _check(response: ElectLeadersResponse) -> None:
    """Raises UsageError."""
    if response.error_code != ErrorCode.NONE:
        raise UsageError(f"the controller refused: {ErrorCode(response.error_code).name}", hint="ask again")
    for topic in response.replica_election_results:
        for result in topic.partition_result:
            if result.error_code not in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED):
                why = result.error_message or ErrorCode(result.error_code).name
                raise UsageError(f"{topic.topic}-{result.partition_id} gets no leader: {why}")
