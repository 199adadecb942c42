"""One-shot watches of one simulated server: who is told of what."""

from __future__ import annotations

from typing import Protocol

from pytest_kcontroller.zookeeper.session import WatchKind


class Watcher(Protocol):
    """A connection."""

    def event(self, kind: WatchKind, path: str) -> None: ...


class Watches:
    """As org.apache.zookeeper.server.watch.WatchManager: one table for data and existence, one for children."""

    def __init__(self) -> None:
        self._data: dict[str, dict[Watcher, None]] = {}
        self._children: dict[str, dict[Watcher, None]] = {}
        self._paths: dict[Watcher, dict[tuple[str, bool], None]] = {}

    def add(self, watcher: Watcher, path: str, *, children: bool) -> None:
        table = self._children if children else self._data
        table.setdefault(path, {})[watcher] = None
        self._paths.setdefault(watcher, {})[path, children] = None

    def fire(self, kind: WatchKind, path: str) -> None:
        """A deletion tells whoever watches the data and the children of a path once."""
        woken = self._take(path, children=False) if kind != WatchKind.CHILDREN else {}
        if kind in (WatchKind.CHILDREN, WatchKind.DELETED):
            woken = woken | self._take(path, children=True)
        for watcher in woken:
            watcher.event(kind, path)

    def forget(self, watcher: Watcher) -> None:
        """Its connection has ended."""
        for path, children in self._paths.pop(watcher, ()):
            table = self._children if children else self._data
            watchers = table[path]
            del watchers[watcher]
            if not watchers:
                del table[path]

    def _take(self, path: str, *, children: bool) -> dict[Watcher, None]:
        watchers = (self._children if children else self._data).pop(path, {})
        for watcher in watchers:
            del self._paths[watcher][path, children]
        return watchers
