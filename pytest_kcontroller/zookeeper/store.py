"""Store: what controller and broker do with a session. Batches, chunks, fencing, resend after loss, read-back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pytest_kcontroller.zookeeper.session import Children, Create, Delete, Node, SetData, Stat, WriteOp


@dataclass(frozen=True, slots=True)
class Fence:
    """The right to write as a controller: the version of /controller_epoch that the election left."""

    version: int
    path: str = "/controller_epoch"


class FencedError(Exception):
    """The fence's check failed: another controller has been elected (Kafka: ControllerMovedException, KAFKA-6082)."""


@dataclass(frozen=True, slots=True)
class Written:
    """The write is in ZooKeeper, by this try or by an earlier one whose answer was lost. `version` after the write."""

    version: int


@dataclass(frozen=True, slots=True)
class Stale:
    """Not written: the znode is not what the writer thought. `now` is what is there, None: no such znode (or no parent)."""

    now: Node | None


WriteResult = Written | Stale


class StoreApi(Protocol):
    """The contract that `Store` fulfils. Every call is resent after a lost connection and raises only
    SessionExpiredError, FencedError, RequestTooBigError or an error named here."""

    async def get(self, path: str, *, watch: bool = False) -> Node | None: ...
    async def exists(self, path: str, *, watch: bool = False) -> Stat | None: ...
    async def children(self, path: str, *, watch: bool = False) -> Children | None: ...
    async def get_many(self, paths: Sequence[str]) -> list[Node | None]:
        """MultiRead, in chunks; in the order of `paths`."""
        ...

    async def get_watched(self, paths: Sequence[str]) -> list[Node | None]:
        """Pipelined get-with-watch, in the order of `paths`."""
        ...

    async def write_each(self, ops: Sequence[Create | SetData], *, fence: Fence) -> list[WriteResult]:
        """Independent writes in fenced multis of at most `chunk_ops` operations and 512 KiB; a result per operation."""
        ...

    async def write_all(self, ops: Sequence[WriteOp], *, fence: Fence | None = None) -> tuple[object, ...]:
        """One multi, all or nothing; results as session.Multi's. Raises the ZkError of the operation that failed.

        After a lost answer the caller gets ConnectionLossError: only it knows what proves that its write went through.
        """
        ...

    async def ensure_paths(self, paths: Sequence[str]) -> None:
        """Creates persistent znodes and their parents, empty, where they are missing (unfenced)."""
        ...

    async def delete_each(self, ops: Sequence[Delete], *, fence: Fence) -> list[WriteResult]: ...
