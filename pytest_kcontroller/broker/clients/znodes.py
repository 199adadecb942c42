"""How requests of clients are written: as Kafka's brokers do it, not fenced by the controller's epoch (ZkAdminManager).

Everything is written for sure: a connection that breaks is waited for, and what is there then says whether the write went
through. SessionExpiredError ends it.
"""

from __future__ import annotations

from collections.abc import Callable

from pytest_kcontroller.broker.clients.refused import RefusedError
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.zookeeper.session import (
    BadVersionError,
    ConnectionLossError,
    Create,
    Node,
    NodeExistsError,
    NoNodeError,
    RequestTooBigError,
    SetData,
    WriteOp,
)
from pytest_kcontroller.zookeeper.store import Store


async def create(store: Store, path: str, data: bytes = b"") -> bool:
    """False: somebody else has made it. The content tells ours from others'; where it cannot, ours is as good as theirs."""
    lost = False
    while True:
        try:
            await _write(store, Create(path, data))
        except ConnectionLossError:
            lost = True
        except NodeExistsError:
            there = await store.get(path) if lost else None
            return there is not None and there.data == data
        else:
            return True


async def change(store: Store, path: str, new: Callable[[Node | None], bytes]) -> None:
    """Sets what `new` makes of what is there (None: nothing; then the znode is made), however often others are faster."""
    while True:
        there = await store.get(path)
        data = new(there)
        if there is not None and there.data == data:
            return
        try:
            await _write(store, Create(path, data) if there is None else SetData(path, data, there.stat.version))
        except (ConnectionLossError, NodeExistsError, BadVersionError, NoNodeError):
            continue
        return


async def notify(store: Store, prefix: str, data: bytes) -> None:
    """A sequence znode. After a lost answer there may be two, which tell the same."""
    while True:
        try:
            await _write(store, Create(prefix, data, sequence=True))
        except ConnectionLossError:
            continue
        return


async def _write(store: Store, op: WriteOp) -> None:
    try:
        await store.write_all([op])
    except RequestTooBigError:
        raise RefusedError(ErrorCode.INVALID_REQUEST, f"it does not fit into the znode {op.path}") from None
