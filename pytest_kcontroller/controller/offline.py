"""What is done when replicas go offline, because their brokers have gone or the disks that they are on."""

from __future__ import annotations

from pytest_kcontroller.controller import topic_deletion
from pytest_kcontroller.controller.context import Replicas
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.controller.transitions import (
    PartitionState,
    PartitionTransition,
    ReplicaState,
    ReplicaTransition,
)


async def replicas_go_offline(term: Term, replicas: Replicas, cause: str) -> None:
    """Others lead what they led, and they leave the ISR; the context knows already that they are offline. The deletion of
    those that are being deleted waits.

    Who is live is told to all even if nothing else is (KAFKA-13225). Source: KafkaController.onReplicasBecomeOffline.
    """
    context = term.context
    leaderless = [
        tp for tp in context.led_by_nobody_live() if context.partition_state(tp) is not PartitionState.NON_EXISTENT
    ]
    await term.partitions.transition(leaderless, PartitionTransition(target=PartitionState.OFFLINE, cause=cause))
    any_elected = await term.partitions.trigger_online(cause)
    kept = {broker: left for broker, tps in replicas.items() if (left := context.not_deleted(list(tps)))}
    await term.replicas.transition(kept, ReplicaTransition(target=ReplicaState.OFFLINE, cause=cause))
    await topic_deletion.fail(term, replicas)
    if not kept and not any_elected:
        await term.requests.update_metadata(context.registered_ids())
