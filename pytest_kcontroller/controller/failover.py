"""The beginning of a term, in Kafka's order (kafka.controller.KafkaController.onControllerFailover, 3.9)."""

from __future__ import annotations

from pytest_kcontroller.controller import topic_deletion
from pytest_kcontroller.controller.decide.reassignment import strangers
from pytest_kcontroller.controller.events.auto_preferred_replica_leader_election import schedule_first
from pytest_kcontroller.controller.events.replica_leader_election import PreferredReplicaElection
from pytest_kcontroller.controller.events.zk_partition_reassignment import start_requested
from pytest_kcontroller.controller.loading import read_topics, registered_brokers, topic_names
from pytest_kcontroller.controller.notifications import forget_notifications
from pytest_kcontroller.controller.reassignment import resume_at_failover
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.model.history import ControllerFailover
from pytest_kcontroller.model.turns import Breather, Pieces
from pytest_kcontroller.seams import seam
from pytest_kcontroller.zookeeper.znodes import ISR_CHANGE_NOTIFICATION, LOG_DIR_EVENT_NOTIFICATION


async def fail_over(term: Term) -> None:
    """What is known, who is live sent to all first (KAFKA-4443), replicas, partitions, reassignments,
    deletions.

    Raises what a store raises.
    """
    began = term.runtime.clock.now_us()
    for above in (LOG_DIR_EVENT_NOTIFICATION, ISR_CHANGE_NOTIFICATION):
        await forget_notifications(term, above)
    await term.configs.skip_changes()
    await term.configs.load_default()
    await load(term)
    await topic_deletion.load(term)
    for broker in term.context.brokers.values():
        term.channels.add(broker)
    await start_machines(term)
    await resume_at_failover(term, await start_requested(term))
    await topic_deletion.resume_at_failover(term)
    await PreferredReplicaElection().act(term)
    schedule_first(term)
    term.record(
        ControllerFailover(
            epoch=term.context.epoch,
            partitions=len(term.context.assignments),
            duration_us=term.runtime.clock.now_us() - began,
            zxid=term.store.session.last_zxid,
        )
    )


@seam("controller.start-machines")
async def start_machines(term: Term) -> None:
    """Who is live is sent to all first: a broker follows nobody whom it does not know (KAFKA-4443)."""
    await term.requests.update_metadata(term.context.registered_ids())
    await term.replicas.start()
    await term.partitions.start()


async def load(term: Term) -> None:
    """Fills the context with what ZooKeeper has, and sets the watches."""
    context, breather = term.context, Breather()
    for broker in (await registered_brokers(term)).values():
        context.register(broker)
    for topic in await read_topics(term, await topic_names(term)):
        context.add_topic(topic.name, topic.topic_id)
        for tp in context.assign(topic.name, topic.partitions):
            if context.assignments[tp].reassigning:
                context.begin_reassignment(tp)
        await breather.after(len(topic.partitions))
    await term.states.load(context.partitions())
    context.strays = {
        tp: left async for piece in Pieces(context.leadership) for tp in piece if (left := strangers(context, tp))
    }
