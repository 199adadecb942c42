"""KAFKA-6082, only where partition states are written: every other write of a controller stays fenced."""

from __future__ import annotations

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.seams import Mutant
from pytest_kcontroller.zookeeper.session import ANY_VERSION
from pytest_kcontroller.zookeeper.store import Fence, Store


async def any_epoch(context: Context, store: Store) -> Fence:
    """A check that every version passes."""
    return Fence(ANY_VERSION)


MUTANT = Mutant(
    name="KAFKA-6082-states",
    description="A deposed controller's writes of partition states are accepted; its other writes are fenced.",
    source="https://issues.apache.org/jira/browse/KAFKA-6082",
    replacements=(("controller.fence-states", any_epoch),),
    breaks=("no-stale-epoch-write",),
)
