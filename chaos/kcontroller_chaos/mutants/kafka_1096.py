"""KAFKA-1096: a controller that was replaced takes over its successor's epoch (before Kafka 0.8.2)."""

from __future__ import annotations

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.seams import Mutant, unchanged
from pytest_kcontroller.zookeeper.store import Fence, Store
from pytest_kcontroller.zookeeper.znodes import CONTROLLER_EPOCH, decode_controller_epoch

SEAM = "controller.fence-states"


async def newest_epoch(context: Context, store: Store) -> Fence:
    """The epoch as it is in ZooKeeper now, as a watch on it kept it up to date."""
    there = await store.get(CONTROLLER_EPOCH)
    if there is None or there.stat.version == context.epoch_version:
        unchanged(SEAM)
    else:
        context.epoch, context.epoch_version = decode_controller_epoch(there.data), there.stat.version
    return Fence(context.epoch_version)


MUTANT = Mutant(
    name="KAFKA-1096",
    description="A controller follows /controller_epoch, so a deposed one looks current to ZooKeeper and to the brokers.",
    source="https://issues.apache.org/jira/browse/KAFKA-1096",
    replacements=((SEAM, newest_epoch),),
    breaks=("no-stale-epoch-write",),
)
