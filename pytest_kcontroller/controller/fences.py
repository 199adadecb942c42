"""What each kind of a controller's writes is fenced with (KAFKA-6082)."""

from __future__ import annotations

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.seams import seam
from pytest_kcontroller.zookeeper.store import Fence, Store


@seam("controller.fence-states")
async def fence_of_states(context: Context, store: Store) -> Fence:
    """Partition states: with the epoch that was won, which is never read again (KAFKA-1096)."""
    return Fence(context.epoch_version)


@seam("controller.fence-topics")
def fence_of_topics(context: Context) -> Fence:
    """Topic znodes."""
    return Fence(context.epoch_version)


@seam("controller.fence-deleted-topics")
def fence_of_deleted_topics(context: Context) -> Fence:
    """Topics that are deleted, with all that is below their znodes, and their configs."""
    return Fence(context.epoch_version)


@seam("controller.fence-deletion-markers")
def fence_of_deletion_markers(context: Context) -> Fence:
    """The markers that ask for the deletion of a topic."""
    return Fence(context.epoch_version)


@seam("controller.fence-notifications")
def fence_of_notifications(context: Context) -> Fence:
    """What asked for something, and is deleted when it has been done: notifications, preferred elections, reassignments."""
    return Fence(context.epoch_version)


@seam("controller.fence-producer-ids")
def fence_of_producer_ids(context: Context) -> Fence:
    """The last block of producer ids. Kafka's is not fenced, and compares the znode's version only."""
    return Fence(context.epoch_version)
