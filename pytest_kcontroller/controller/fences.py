"""What each kind of a controller's writes is fenced with (KAFKA-6082)."""

from __future__ import annotations

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.runtime.seams import seam
from pytest_kcontroller.zookeeper.store import Fence, Store


@seam("controller.fence-states")
async def fence_of_states(context: Context, store: Store) -> Fence:
    """Partition states: with the epoch that was won, which is never read again (KAFKA-1096)."""
    return Fence(context.epoch_version)


@seam("controller.fence-topics")
def fence_of_topics(context: Context) -> Fence:
    """Topic znodes, which are overwritten whatever their version is."""
    return Fence(context.epoch_version)
