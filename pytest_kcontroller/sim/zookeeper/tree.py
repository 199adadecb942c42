"""The tree of znodes of one simulated server, and what each write does to it: versions, zxids, sequences, ephemerals.

A write either changes the tree and says in `changes` which watches it would fire, or raises a ZkError and changes nothing.
Rules as of org.apache.zookeeper.server.PrepRequestProcessor and DataTree.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pytest_kcontroller.zookeeper.session import (
    ANY_VERSION,
    BadVersionError,
    NoChildrenForEphemeralsError,
    Node,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    Stat,
    UnexpectedZkError,
    WatchKind,
)

BAD_ARGUMENTS = -8
_BAD_PATH = re.compile(r"//|/\.\.?(?:/|$)|[\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\U0010ffff]")
_RESERVED = ("/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota")


class Znode:
    """`creates` counts the children ever made: the next sequence number, and what a Stat's cversion is reckoned from."""

    __slots__ = (
        "_read",
        "children",
        "creates",
        "ctime_ms",
        "czxid",
        "data",
        "mtime_ms",
        "mzxid",
        "owner",
        "pzxid",
        "version",
    )

    def __init__(self, data: bytes, owner: int, zxid: int, now_ms: int) -> None:
        self.data, self.owner, self.version, self.creates = data, owner, 0, 0
        self.czxid = self.mzxid = self.pzxid = zxid
        self.ctime_ms = self.mtime_ms = now_ms
        self.children: dict[str, None] = {}
        self._read: Node | None = None

    def changed(self) -> None:
        self._read = None

    def read(self) -> Node:
        """Made once per change: a node is read far more often than written."""
        if self._read is None:
            self._read = Node(self.data, self._stat())
        return self._read

    def _stat(self) -> Stat:
        children = len(self.children)
        return Stat(
            czxid=self.czxid,
            mzxid=self.mzxid,
            pzxid=self.pzxid,
            ctime_ms=self.ctime_ms,
            mtime_ms=self.mtime_ms,
            version=self.version,
            cversion=2 * self.creates - children,
            ephemeral_owner=self.owner,
            children=children,
        )


class Tree:
    """As a new server has it: the root with ZooKeeper's own znodes."""

    def __init__(self) -> None:
        self.znodes: dict[str, Znode] = {}
        self.ephemerals: dict[int, dict[str, None]] = {}
        """The paths of each session, in the order in which they were made."""
        self.changes: list[tuple[WatchKind, str]] = []
        """What the write under way has changed, in its order; whoever fires the watches empties it."""
        self._undo: list[Callable[[], None]] | None = None
        for path in _RESERVED:
            self.znodes[path] = Znode(b"", 0, 0, 0)
        self.znodes["/"].children["zookeeper"] = None
        self.znodes["/zookeeper"].children.update({"config": None, "quota": None})

    def find(self, path: str) -> Znode:
        znode = self.znodes.get(path)
        if znode is None:
            raise NoNodeError(path)
        return znode

    # --- writes

    def create(self, path: str, data: bytes, *, owner: int, sequence: bool, zxid: int, now_ms: int) -> str:
        """The path as made. `owner`: the session of an ephemeral, else 0."""
        parent_path = parent_of(path)
        parent = self.find(parent_path)
        if sequence:
            path += f"{parent.creates:010d}"
        _check_path(path)
        if path in self.znodes:
            raise NodeExistsError(path)
        if parent.owner:
            raise NoChildrenForEphemeralsError(path)
        if self._undo is not None:
            self._undo.append(self._uncreate(path, parent, parent.pzxid))
        self.znodes[path] = Znode(data, owner, zxid, now_ms)
        parent.children[name_of(path)] = None
        parent.creates += 1
        parent.pzxid = zxid
        parent.changed()
        if owner:
            self.ephemerals.setdefault(owner, {})[path] = None
        self.changes.append((WatchKind.CREATED, path))
        self.changes.append((WatchKind.CHILDREN, parent_path))
        return path

    def set_data(self, path: str, data: bytes, version: int, *, zxid: int, now_ms: int) -> Znode:
        _check_path(path)
        znode = self.find(path)
        self.check_version(znode, version, path)
        if self._undo is not None:
            self._undo.append(_unset(znode, znode.data, znode.version, znode.mzxid, znode.mtime_ms))
        znode.data, znode.mzxid, znode.mtime_ms = data, zxid, now_ms
        znode.version += 1
        znode.changed()
        self.changes.append((WatchKind.CHANGED, path))
        return znode

    def delete(self, path: str, version: int, *, zxid: int) -> None:
        parent_path = parent_of(path)
        if path in _RESERVED:
            raise UnexpectedZkError(BAD_ARGUMENTS, path)
        parent, znode = self.znodes.get(parent_path), self.find(path)
        if parent is None:
            raise NoNodeError(path)
        self.check_version(znode, version, path)
        if znode.children:
            raise NotEmptyError(path)
        if self._undo is not None:
            self._undo.append(self._undelete(path, znode, parent, parent.pzxid))
        self._remove(path, znode, parent)
        parent.pzxid = zxid
        self.changes.append((WatchKind.DELETED, path))
        self.changes.append((WatchKind.CHILDREN, parent_path))

    def check(self, path: str, version: int) -> Znode:
        _check_path(path)
        znode = self.find(path)
        self.check_version(znode, version, path)
        return znode

    def check_version(self, znode: Znode, version: int, path: str) -> None:
        if version not in (ANY_VERSION, znode.version):
            raise BadVersionError(path)

    def remove_ephemerals(self, session: int, *, zxid: int) -> tuple[str, ...]:
        """Of a session that has ended. (The real server's order is that of a hash; here it is that of their creation.)"""
        paths = tuple(self.ephemerals.get(session, ()))
        for path in paths:
            self.delete(path, ANY_VERSION, zxid=zxid)
        self.ephemerals.pop(session, None)
        return paths

    # --- a multi: all or nothing

    def begin(self) -> None:
        """From here on every write can be taken back."""
        self._undo = []

    def commit(self) -> None:
        self._undo = None

    def roll_back(self) -> None:
        undo, self._undo = self._undo or [], None
        for take_back in reversed(undo):
            take_back()
        self.changes.clear()

    def _uncreate(self, path: str, parent: Znode, pzxid: int) -> Callable[[], None]:
        def take_back() -> None:
            self._remove(path, self.znodes[path], parent)
            parent.creates -= 1
            parent.pzxid = pzxid

        return take_back

    def _undelete(self, path: str, znode: Znode, parent: Znode, pzxid: int) -> Callable[[], None]:
        def take_back() -> None:
            self.znodes[path] = znode
            parent.children[name_of(path)] = None
            parent.pzxid = pzxid
            parent.changed()
            if znode.owner:
                self.ephemerals.setdefault(znode.owner, {})[path] = None

        return take_back

    def _remove(self, path: str, znode: Znode, parent: Znode) -> None:
        del self.znodes[path]
        del parent.children[name_of(path)]
        parent.changed()
        if znode.owner:
            self.ephemerals[znode.owner].pop(path, None)


def _unset(znode: Znode, data: bytes, version: int, mzxid: int, mtime_ms: int) -> Callable[[], None]:
    def take_back() -> None:
        znode.data, znode.version, znode.mzxid, znode.mtime_ms = data, version, mzxid, mtime_ms
        znode.changed()

    return take_back


def parent_of(path: str) -> str:
    return path[: path.rfind("/")] or "/"


def name_of(path: str) -> str:
    return path[path.rfind("/") + 1 :]


def _check_path(path: str) -> None:
    """As org.apache.zookeeper.common.PathUtils refuses them. (A character beyond U+FFFF is two surrogates in Java.)"""
    if (path != "/" and path[-1:] == "/") or path[:1] != "/" or _BAD_PATH.search(path):
        raise UnexpectedZkError(BAD_ARGUMENTS, path)
