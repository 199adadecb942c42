"""KAFKA-6082: controllers did not fence what they write (before Kafka 2.1)."""

from __future__ import annotations

from pytest_kcontroller.seams import Mutant
from pytest_kcontroller.zookeeper.session import WriteOp
from pytest_kcontroller.zookeeper.store import Fence


def unfenced(ops: tuple[WriteOp, ...], fence: Fence) -> tuple[WriteOp, ...]:
    """The writes as they are, without the check of /controller_epoch in front of them."""
    return ops


MUTANT = Mutant(
    name="KAFKA-6082",
    description="A deposed controller's writes are accepted, since nothing checks /controller_epoch with them.",
    source="https://issues.apache.org/jira/browse/KAFKA-6082",
    replacements=(("store.fence", unfenced),),
    breaks=("no-stale-epoch-write",),
)
