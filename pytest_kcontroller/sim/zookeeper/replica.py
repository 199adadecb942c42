"""What one simulated server has of the data: a tree, the watches on it, and the answers to reads; a follower that lags."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pytest_kcontroller.sim.zookeeper.tree import Tree
from pytest_kcontroller.sim.zookeeper.watches import Watches
from pytest_kcontroller.zookeeper.session import (
    ANY_VERSION,
    Children,
    Exists,
    GetChildren,
    GetData,
    MultiRead,
    Node,
    NoNodeError,
    ReadOp,
    Request,
    Stat,
    ZkError,
)
from pytest_kcontroller.zookeeper.txn import Op, Txn

if TYPE_CHECKING:
    from pytest_kcontroller.sim.zookeeper.link import Connection
    from pytest_kcontroller.sim.zookeeper.server import SimZooKeeper


class Replica:
    """Tree and watches of one server."""

    def __init__(self, tree: Tree, watches: Watches) -> None:
        self.tree, self.watches = tree, watches

    # The answers to reads; a ZkError is an answer. A broken connection leaves no watch.

    def get_data(self, connection: Connection, request: GetData) -> Node | ZkError:
        path = full_path(connection.chroot, request.path)
        znode = self.tree.znodes.get(path)
        if znode is None:
            return NoNodeError(request.path)
        if request.watch and connection.open:
            self.watches.add(connection, path, children=False)
        return znode.read()

    def exists(self, connection: Connection, request: Exists) -> Stat | None:
        path = full_path(connection.chroot, request.path)
        if request.watch and connection.open:
            self.watches.add(connection, path, children=False)
        znode = self.tree.znodes.get(path)
        return None if znode is None else znode.read().stat

    def get_children(self, connection: Connection, request: GetChildren) -> Children | ZkError:
        path = full_path(connection.chroot, request.path)
        znode = self.tree.znodes.get(path)
        if znode is None:
            return NoNodeError(request.path)
        if request.watch and connection.open:
            self.watches.add(connection, path, children=True)
        return Children(tuple(sorted(znode.children)), znode.read().stat)

    def multi_read(self, connection: Connection, request: MultiRead) -> tuple[object, ...]:
        return tuple([self._read(read, connection.chroot) for read in request.reads])

    def _read(self, read: ReadOp, chroot: str) -> object:
        znode = self.tree.znodes.get(full_path(chroot, read.path))
        if znode is None:
            return NoNodeError(read.path)
        return znode.read() if isinstance(read, GetData) else Children(tuple(sorted(znode.children)))

    def fire(self) -> None:
        """After a write: the watches of what it has changed, in the order of its changes."""
        changes = self.tree.changes
        for kind, path in changes:
            self.watches.fire(kind, path)
        changes.clear()


class Follower:
    """A server that has every transaction `lag_us` after the leader. What holds for the sessions of its link:

    - a read sees all transactions up to some point, and that point never goes back;
    - the answer to a write comes when the follower has the write, so whoever has it can read it;
    - later requests of the session wait for that answer;
    - a watch event comes before the first answer that shows what fired it.
    """

    def __init__(self, server: SimZooKeeper, lag_us: int) -> None:
        self.lag_us = 0
        self.replica = Replica(server.tree_type(), server.watches_type())
        self._server = server
        self._applied = 0
        self._behind: dict[Connection, _Behind] = {}
        self._timer: asyncio.TimerHandle | None = None
        self.catch_up()
        self.lag_us = lag_us

    def keeps(self, connection: Connection, request: Request | None, xid: int) -> bool:
        """Whether the request is behind a write whose answer waits: then it comes back when its time has come."""
        if (behind := self._behind.get(connection)) is None:
            return False
        behind.requests.append((request, xid))
        return True

    @property
    def zxid(self) -> int:
        """The newest transaction that is here."""
        return self._server.txns[self._applied - 1][1].zxid if self._applied else 0

    @property
    def behind(self) -> int:
        """How many transactions are not here yet."""
        return len(self._server.txns) - self._applied

    def answer(self, connection: Connection, answer: object) -> None:
        """Of a write that the leader has done just now."""
        self._behind[connection] = _Behind(len(self._server.txns), answer)
        self.catch_up()

    def forget(self, connection: Connection) -> None:
        self.replica.watches.forget(connection)
        self._behind.pop(connection, None)

    def learn(self) -> None:
        """The leader has logged a transaction."""
        if self._timer is None and self._applied < len(self._server.txns):
            due_us = self._server.txns[self._applied][0] + self.lag_us
            self._timer = self._server.loop.call_at(due_us / 1e6, self._due)

    def rearm(self) -> None:
        """After a change of the lag, or of the server's process."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.learn()

    def _due(self) -> None:
        self._timer = None
        self.catch_up()
        self.learn()

    def catch_up(self) -> None:
        txns, until_us = self._server.txns, self._server.scheduler.now_us - self.lag_us
        while self._applied < len(txns) and txns[self._applied][0] <= until_us:
            self._apply(txns[self._applied][1])
            self._applied += 1
        for connection, behind in list(self._behind.items()):
            if behind.position <= self._applied and self._behind.pop(connection, None) is not None:
                connection.tell(connection.client.on_reply, behind.answer, self.zxid)
                for request, xid in behind.requests:
                    self._server.serve(connection, request, xid)

    def _apply(self, txn: Txn) -> None:
        if txn.refused:
            return
        for op in txn.ops:
            self._change(op, txn)
        for path in txn.closed:
            self.replica.tree.delete(path, ANY_VERSION, zxid=txn.zxid)
        self.replica.fire()

    def _change(self, op: Op, txn: Txn) -> None:
        tree = self.replica.tree
        assert op.path is not None
        if op.type == "create":
            owner = txn.session if op.ephemeral else 0
            tree.create(op.path, op.data or b"", owner=owner, sequence=False, zxid=txn.zxid, now_ms=txn.time_ms)
        elif op.type == "set":
            tree.set_data(op.path, op.data or b"", ANY_VERSION, zxid=txn.zxid, now_ms=txn.time_ms)
        elif op.type == "delete":
            tree.delete(op.path, ANY_VERSION, zxid=txn.zxid)


class _Behind:
    """A write whose answer waits until `position` transactions are here, and the requests behind it."""

    __slots__ = ("answer", "position", "requests")

    def __init__(self, position: int, answer: object) -> None:
        self.position, self.answer = position, answer
        self.requests: list[tuple[Request | None, int]] = []


READS: dict[type[Request], Callable[[Replica, Connection, Any], object]] = {
    GetData: Replica.get_data,
    Exists: Replica.exists,
    GetChildren: Replica.get_children,
    MultiRead: Replica.multi_read,
}


def full_path(chroot: str, path: str) -> str:
    return chroot if chroot and path == "/" else chroot + path
