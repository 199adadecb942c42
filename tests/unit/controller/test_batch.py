"""Batches of requests, where Kafka's own tests (tests/fidelity) do not look."""

from __future__ import annotations

from pytest_kcontroller.controller.batch import Batch
from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.model.cluster import Address, Assignment, Broker, LeaderAndIsr, TopicPartition
from pytest_kcontroller.wire.codec import encode

TP = TopicPartition("t", 0)
STATE = LeaderAndIsr(leader=1, leader_epoch=5, isr=(1, 2), controller_epoch=8)


def test_each_broker_is_told_its_own_epoch_and_ours() -> None:
    context = Context(9, 9)
    for number in (1, 2, 4):
        context.register(Broker(id=number, address=Address("127.0.0.1", 9000 + number), epoch=100 + number))
    context.add_topic("t", None)
    context.assign("t", {0: Assignment((1, 2))})
    context.set_leadership({TP: STATE})
    batch = Batch(0, context)
    batch.leader_and_isr([1, 2], TP, STATE, is_new=False)
    for number, request in batch.build():
        assert (request.broker_epoch, request.controller_epoch) == (100 + number, 9)
        assert encode(request, {4: 7, 6: 8}[request.API_KEY])
