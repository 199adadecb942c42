"""Facts about Kafka's controller, from its own tests and code: tables, AlterPartition's checks, request batches.

Vectors of parts that do not exist yet (deletion, topics queued for it) are in the data and not asked.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_kcontroller.controller.batch import Batch
from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.decide.isr import AlterPartitionItem, check, check_broker
from pytest_kcontroller.controller.transitions import PARTITION_FROM, REPLICA_FROM, PartitionState, ReplicaState
from pytest_kcontroller.model.cluster import Address, Assignment, Broker, LeaderAndIsr, TopicPartition
from pytest_kcontroller.wire.codec import encode
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.messages import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest

VECTORS: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[2] / "data" / "controller_vectors.json").read_text(encoding="utf-8")
)


def transitions(table: str) -> list[Any]:
    """Those that only say whether a transition is legal."""
    plain = [v for v in VECTORS[table] if set(v["inputs"]) == {"from", "to"} and "valid" in v["expected"]]
    return [pytest.param(v, id=v["id"]) for v in plain]


@pytest.mark.parametrize("vector", transitions("partition_state_transitions"))
def test_partition_transitions(vector: dict[str, Any]) -> None:
    origin, target = PartitionState(vector["inputs"]["from"]), PartitionState(vector["inputs"]["to"])
    assert (origin in PARTITION_FROM[target]) == vector["expected"]["valid"]


@pytest.mark.parametrize("vector", transitions("replica_state_transitions"))
def test_replica_transitions(vector: dict[str, Any]) -> None:
    origin, target = ReplicaState(vector["inputs"]["from"]), ReplicaState(vector["inputs"]["to"])
    assert (origin in REPLICA_FROM[target]) == vector["expected"]["valid"]


def test_the_tables_are_total() -> None:
    assert set(PARTITION_FROM) == set(PartitionState)
    assert set(REPLICA_FROM) == set(ReplicaState)


def test_what_is_not_in_the_maps_is_non_existent() -> None:
    assert Context(1, 1).partition_state(TP) is PartitionState.NON_EXISTENT
    assert Context(1, 1).replica_state(TP, 5) is ReplicaState.NON_EXISTENT


# --- AlterPartition: broker 1 leads t-0, ISR [1, 2], leader epoch 5, partition epoch 7; broker 3 is assigned and dead

TP = TopicPartition("t", 0)


def broker(number: int) -> Broker:
    return Broker(id=number, address=Address("127.0.0.1", 9000 + number), epoch=100 + number)


def term(*, recovering: bool = False, led: bool = True) -> Context:
    context = Context(9, 9)
    for number in (1, 2, 4):
        context.register(broker(number))
    context.add_topic("t", None)
    context.assign("t", {0: Assignment((1, 2, 4, 3))})
    state = LeaderAndIsr(
        leader=1,
        leader_epoch=5,
        isr=(1,) if recovering else (1, 2),
        controller_epoch=8,
        partition_epoch=7,
        recovering=recovering,
    )
    context.set_leadership({TP: state} if led else {})
    return context


def item(**changes: Any) -> AlterPartitionItem:
    return AlterPartitionItem(**{"leader_epoch": 5, "partition_epoch": 7, "isr": (1, 2, 4), **changes})


ALTER = {
    "ap-unknown-partition": (TopicPartition("t", 1), item()),
    "ap-unknown-topic": (TopicPartition("unknown", 0), item()),
    "ap-old-pe": (TP, item(partition_epoch=6)),
    "ap-new-pe": (TP, item(partition_epoch=8)),
    "ap-old-le": (TP, item(leader_epoch=4)),
    "ap-new-le": (TP, item(leader_epoch=6)),
    "ap-recovering-isr2": (TP, item(recovering=True, isr=(1, 4))),
    "ap-recovered-to-recovering": (TP, item(recovering=True, isr=(1,))),
    "ap-precedence-pe": (TP, item(recovering=True, partition_epoch=6)),
    "ap-precedence-le": (TP, item(recovering=True, leader_epoch=4)),
}


@pytest.mark.parametrize("name", sorted(ALTER))
def test_alter_partition_is_refused(name: str) -> None:
    expected = next(v for v in VECTORS["alter_partition"] if v["id"] == name)["expected"]
    assert check(term(), *ALTER[name]) == ErrorCode[expected["partition"]]


def test_a_dead_broker_does_not_join_the_isr() -> None:  # ap-shutdown-broker
    assert check(term(), TP, item(isr=(1, 2, 3))) == ErrorCode.INELIGIBLE_REPLICA


def test_nor_does_one_that_is_shutting_down() -> None:
    context = term()
    context.begin_shutdown(4)
    assert check(context, TP, item()) == ErrorCode.INELIGIBLE_REPLICA


def test_the_same_state_with_an_older_partition_epoch_is_success_without_a_write() -> None:  # ap-idempotent
    context = term()
    assert check(context, TP, item(isr=(1, 2), partition_epoch=6)) == context.leadership[TP]


def test_what_is_accepted_keeps_the_leader_epoch_and_carries_our_controller_epoch() -> None:
    state = check(term(), TP, item())
    assert state == LeaderAndIsr(leader=1, leader_epoch=5, isr=(1, 2, 4), controller_epoch=9, partition_epoch=7)


def test_recovery_ends_when_the_leader_says_so() -> None:
    state = check(term(recovering=True), TP, item(isr=(1,)))
    assert isinstance(state, LeaderAndIsr) and not state.recovering


@pytest.mark.parametrize(("number", "epoch"), [(1, 100), (1, 102), (99, 199), (1, -1)])
def test_a_broker_epoch_must_be_the_registered_one(number: int, epoch: int) -> None:  # ap-stale-broker, -unknown-broker
    assert check_broker(term(), number, epoch) == ErrorCode.STALE_BROKER_EPOCH
    assert check_broker(term(), 1, 101) == ErrorCode.NONE


# --- request batches


def sent(batch: Batch, kind: Any) -> dict[int, Any]:
    return {number: request for number, request in batch.build() if isinstance(request, kind)}


def state(context: Context) -> LeaderAndIsr:
    return context.leadership[TP]


@pytest.mark.parametrize("adds", [(True, False), (False, True)])
def test_is_new_is_sticky_and_there_is_one_request(adds: tuple[bool, bool]) -> None:  # rb-isnew-sticky
    context = term()
    batch = Batch(0, context)
    for is_new in adds:
        batch.leader_and_isr([2], TP, state(context), is_new=is_new)
    requests = [(b, r) for b, r in batch.build() if isinstance(r, LeaderAndIsrRequest)]
    assert [b for b, _ in requests] == [2]
    assert requests[0][1].topic_states[0].partition_states[0].is_new is True


@pytest.mark.parametrize("adds", [(True, False), (False, True)])
def test_delete_is_sticky(adds: tuple[bool, bool]) -> None:  # rb-sr-delete-sticky
    batch = Batch(0, term())
    for delete in adds:
        batch.stop_replicas(2, [TP], delete=delete)
    assert sent(batch, StopReplicaRequest)[2].topic_states[0].partition_states[0].delete_partition is True


def test_registered_brokers_are_told_dead_and_negative_ones_are_not() -> (
    None
):  # rb-live-or-shutting, -um-live, -negative-id
    context = term()
    context.begin_shutdown(2)
    batch = Batch(0, context)
    batch.leader_and_isr([1, 2, 3, -1], TP, state(context), is_new=False)
    for number in (1, 2, 3, -1):
        batch.stop_replicas(number, [TP], delete=False)
    updates = sent(batch, UpdateMetadataRequest)
    assert sorted(sent(batch, LeaderAndIsrRequest)) == sorted(sent(batch, StopReplicaRequest)) == [1, 2]
    assert sorted(updates) == [1, 2, 4]  # rb-um-implicit: everybody, once
    assert [b.id for b in updates[1].live_brokers] == [1, 2, 4]
    assert updates[1].topic_states[0].partition_states[0].offline_replicas == (2, 3)


def test_partitions_without_leadership_are_left_out() -> None:  # rb-um-no-leader
    context = term(led=False)
    batch = Batch(0, context)
    batch.update_metadata([1, 2, 4], [TP])
    updates = sent(batch, UpdateMetadataRequest)
    assert sorted(updates) == [1, 2, 4]
    assert updates[1].topic_states == []


def test_requests_leave_in_kafkas_order() -> None:  # rb-order
    context = term()
    batch = Batch(0, context)
    batch.stop_replicas(1, [TP], delete=False)
    batch.stop_replicas(2, [TP], delete=False)
    batch.leader_and_isr([1, 2], TP, state(context), is_new=False)
    kinds = [type(request) for _, request in batch.build()]
    assert kinds == [LeaderAndIsrRequest] * 2 + [UpdateMetadataRequest] * 3 + [StopReplicaRequest] * 2


def test_each_broker_is_told_its_own_epoch_and_ours() -> None:
    context = term()
    batch = Batch(0, context)
    batch.leader_and_isr([1, 2], TP, state(context), is_new=False)
    for number, request in batch.build():
        assert (request.broker_epoch, request.controller_epoch) == (100 + number, 9)
        assert encode(request, {4: 7, 6: 8}[request.API_KEY])
