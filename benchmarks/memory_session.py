"""A ZooKeeper session over dictionaries, for a controller that is measured without ZooKeeper.

Every request is done and answered when it is submitted, so that an event of the controller runs through without waiting;
what that costs counts for the phase `zookeeper`. There are no watches: whoever changes the tree tells of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from phases import Phases

from pytest_kcontroller.zookeeper.session import (
    BadVersionError,
    Check,
    Children,
    Create,
    Created,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    MultiRead,
    Node,
    NodeExistsError,
    NoNodeError,
    RolledBackError,
    SessionState,
    SetData,
    Stat,
    WriteOp,
    ZkError,
)

SESSION = 0x1000_0000_0000_0001


class MemoryTree:
    """Paths, and what is there."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {"/": Node(b"", _stat(0, 0, 0))}
        self.names: dict[str, dict[str, None]] = {"/": {}}
        self.zxid = 0

    def create(self, path: str, data: bytes, *, owner: int = 0) -> None:
        parent, _, name = path.rpartition("/")
        if path in self.nodes:
            raise NodeExistsError(path)
        if (parent or "/") not in self.names:
            raise NoNodeError(path)
        self.zxid += 1
        self.nodes[path] = Node(data, _stat(self.zxid, 0, owner))
        self.names[path] = {}
        self.names[parent or "/"][name] = None

    def create_with_parents(self, path: str, data: bytes) -> None:
        parent = path.rpartition("/")[0]
        if parent and parent not in self.nodes:
            self.create_with_parents(parent, b"")
        self.create(path, data)

    def set_data(self, path: str, data: bytes, version: int = -1) -> Stat:
        old = self.find(path, version).stat
        self.zxid += 1
        stat = _stat(old.czxid, old.version + 1, old.ephemeral_owner)
        self.nodes[path] = Node(data, stat)
        return stat

    def delete(self, path: str) -> None:
        parent, _, name = path.rpartition("/")
        del self.nodes[path], self.names[path], self.names[parent or "/"][name]

    def find(self, path: str, version: int) -> Node:
        if (node := self.nodes.get(path)) is None:
            raise NoNodeError(path)
        if version not in (-1, node.stat.version):
            raise BadVersionError(path)
        return node


class MemorySession:
    """See session.ZkSession."""

    session_id, password, timeout_ms, state = SESSION, b"", 60_000, SessionState.CONNECTED

    def __init__(self, tree: MemoryTree, phases: Phases) -> None:
        self.tree, self._phases = tree, phases
        self.read: list[str] = []
        """The path of every znode that was read."""

    def submit(self, request: Any) -> asyncio.Future[object]:
        with self._phases.phase("zookeeper"):
            future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
            answer = self._do(request)
            if isinstance(answer, NoNodeError) and not isinstance(request, MultiRead):
                future.set_exception(answer)
            else:
                future.set_result(answer)
            return future

    @property
    def last_zxid(self) -> int:
        return self.tree.zxid

    async def close(self) -> None:
        """Nothing is open."""

    def _do(self, request: Any) -> object:
        if isinstance(request, MultiRead):
            return tuple([self._do(read) for read in request.reads])
        if isinstance(request, Multi):
            return self._multi(request.ops)
        if isinstance(request, GetData | GetChildren | Exists):
            return self._read(request)
        return self._write(request)

    def _read(self, request: GetData | GetChildren | Exists) -> object:
        path = request.path
        self.read.append(path)
        node = self.tree.nodes.get(path)
        if node is None:
            return None if isinstance(request, Exists) else NoNodeError(path)
        if isinstance(request, GetData):
            return node
        return node.stat if isinstance(request, Exists) else Children(tuple(sorted(self.tree.names[path])), node.stat)

    def _multi(self, ops: Sequence[WriteOp]) -> tuple[object, ...]:
        """All or nothing."""
        results: list[object] = []
        before = {op.path: self.tree.nodes.get(op.path) for op in ops}
        for op in ops:
            try:
                results.append(self._write(op))
            except ZkError as refused:
                self._roll_back(before)
                return (
                    *[RolledBackError()] * len(results),
                    refused,
                    *[RolledBackError()] * (len(ops) - len(results) - 1),
                )
        return tuple(results)

    def _roll_back(self, before: Mapping[str, Node | None]) -> None:
        for path, node in reversed(before.items()):
            if node is not None:
                self.tree.nodes[path] = node
            elif path in self.tree.nodes:
                self.tree.delete(path)

    def _write(self, op: Any) -> object:
        if isinstance(op, SetData):
            return self.tree.set_data(op.path, op.data, op.version)
        if isinstance(op, Create):
            self.tree.create(op.path, op.data, owner=SESSION if op.ephemeral else 0)
            return Created(op.path)
        if isinstance(op, Check):
            self.tree.find(op.path, op.version)
            return None
        if isinstance(op, Delete):
            self.tree.find(op.path, op.version)
            self.tree.delete(op.path)
            return None
        raise TypeError(f"the benchmark has no {type(op).__name__}")


def _stat(czxid: int, version: int, owner: int) -> Stat:
    return Stat(
        czxid=czxid,
        mzxid=czxid,
        pzxid=czxid,
        ctime_ms=0,
        mtime_ms=0,
        version=version,
        cversion=0,
        ephemeral_owner=owner,
        children=0,
    )
