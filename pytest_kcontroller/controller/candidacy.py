"""Winning /controller: one multi creates it and raises the epoch, as since Kafka 2.1 (KAFKA-6082).

Source: kafka.zk.KafkaZkClient.registerControllerAndIncrementControllerEpoch (3.9).
"""

from __future__ import annotations

from dataclasses import dataclass

from pytest_kcontroller.model.cluster import next_epoch
from pytest_kcontroller.runtime.ports import Clock
from pytest_kcontroller.seams import seam
from pytest_kcontroller.zookeeper.session import (
    BadVersionError,
    ConnectionLossError,
    Create,
    Delete,
    Node,
    NodeExistsError,
    NoNodeError,
    SetData,
    Stat,
)
from pytest_kcontroller.zookeeper.store import Fence, FencedError, Store
from pytest_kcontroller.zookeeper.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    decode_controller_epoch,
    encode_controller,
    encode_controller_epoch,
)


@dataclass(frozen=True, slots=True)
class Won:
    epoch: int
    epoch_version: int


async def win(store: Store, node: int, clock: Clock) -> Won | None:
    """None: somebody else has /controller, and it is watched.

    An own /controller counts only if this session owns it: then an earlier try went through whose answer was lost. One that
    an older session of ours left is waited for, since nobody acts for it any more (KAFKA-13407). Raises CorruptZnodeError.
    """
    while True:
        if (there := await store.get(CONTROLLER, watch=True)) is not None:
            if not is_won(there, store.session.session_id):
                return None
            epoch = await store.get(CONTROLLER_EPOCH)
            if epoch is None:
                return None
            return Won(decode_controller_epoch(epoch.data), epoch.stat.version)
        won = await _try(store, node, clock)
        if won is not None:
            return won


@seam("election.is-won")
def is_won(controller: Node, session_id: int) -> bool:
    """A /controller of this very session is an election of ours whose answer was lost (KAFKA-13407)."""
    return controller.stat.ephemeral_owner == session_id


async def _try(store: Store, node: int, clock: Clock) -> Won | None:
    known = await store.get(CONTROLLER_EPOCH)
    try:
        if known is None:
            await store.write_all([Create(CONTROLLER_EPOCH, encode_controller_epoch(0))])
            return None
        epoch = next_epoch(decode_controller_epoch(known.data))
        _, stat = await store.write_all(
            [
                Create(CONTROLLER, encode_controller(node, clock.wall_ms()), ephemeral=True),
                SetData(CONTROLLER_EPOCH, encode_controller_epoch(epoch), known.stat.version),
            ]
        )
    except (NodeExistsError, BadVersionError, ConnectionLossError):
        return None
    assert isinstance(stat, Stat)
    return Won(epoch, stat.version)


async def step_down(store: Store) -> None:
    """Deletes our /controller, so that there is a new election; not that of a successor, who would have raised the epoch
    since it was read."""
    epoch, there = await store.get(CONTROLLER_EPOCH), await store.get(CONTROLLER)
    if epoch is None or there is None or there.stat.ephemeral_owner != store.session.session_id:
        return
    try:
        await store.write_all([Delete(CONTROLLER)], fence=Fence(epoch.stat.version))
    except (NoNodeError, FencedError, ConnectionLossError):
        return
