"""KAFKA-4443: a new controller told who leads before it told who is live (before Kafka 0.10.2, with KAFKA-3042)."""

from __future__ import annotations

from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.seams import Mutant


async def machines_first(term: Term) -> None:
    """A broker that has just started knows nobody, so it follows nobody, and is not told again."""
    await term.replicas.start()
    await term.partitions.start()
    await term.requests.update_metadata(term.context.registered_ids())


MUTANT = Mutant(
    name="KAFKA-4443",
    description="A new controller sends LeaderAndIsr before brokers that have just started know who is live.",
    source="https://issues.apache.org/jira/browse/KAFKA-4443",
    replacements=(("controller.start-machines", machines_first),),
    breaks=("replicas-hosted-after-healing",),
)
