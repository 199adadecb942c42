"""The beginning of a term, in Kafka's order (kafka.controller.KafkaController.onControllerFailover, 3.9)."""

from __future__ import annotations

from pytest_kcontroller.controller.loading import read_topics, registered_brokers, topic_names
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.model.history import ControllerFailover


async def fail_over(term: Term) -> None:
    """What is known, who is live sent to all first (KAFKA-4443), replicas, partitions. Raises what a store raises."""
    began = term.runtime.clock.now_us()
    await load(term)
    for broker in term.context.brokers.values():
        term.channels.add(broker)
    term.requests.update_metadata(term.context.registered_ids())
    await term.replicas.start()
    await term.partitions.start()
    term.record(
        ControllerFailover(
            epoch=term.context.epoch,
            partitions=len(term.context.assignments),
            duration_us=term.runtime.clock.now_us() - began,
            zxid=term.store.session.last_zxid,
        )
    )


async def load(term: Term) -> None:
    """Fills the context with what ZooKeeper has, and sets the watches."""
    context = term.context
    for broker in (await registered_brokers(term)).values():
        context.register(broker)
    for topic in await read_topics(term, await topic_names(term)):
        context.add_topic(topic.name, topic.topic_id)
        context.assign(topic.name, topic.partitions)
    await term.states.load(tuple(context.partitions()))
