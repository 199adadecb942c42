"""The simulated disk of one node. It outlives the node's processes, and can break the promise of `write`.

A good disk keeps what `write` was told. A disk that *caches* says so too, but keeps the newest writes in a cache until
`sync`: a power failure loses them, or tears the last one. Who calls the faults kills the process at the same instant.
One that is *full* takes no write, one that has *failed* gives nothing back either, nor does a directory of it that has,
until each is mended: then all that it had is there.
"""

from __future__ import annotations

import errno
import os

from pytest_kcontroller.runtime.ports import Rng


class SimDisk:
    """See ports.Disk."""

    def __init__(self, rng: Rng, name: str) -> None:
        """What is lost and where a write is torn comes from the stream `disk/<name>`."""
        self._random = rng.stream(f"disk/{name}")
        self._synced: dict[str, bytes] = {}
        self._cached: list[tuple[str, bytes]] = []
        self._caching = False
        self._replaced: dict[str, bytes | None] = {}
        """Name -> what was there before the last write to it that a good disk was told, of those that changed its length: a
        file that is written anew and again as it was has lost nothing that could be seen."""
        self._full = False
        self._failed: tuple[str, ...] = ()
        """What the names begin with that have failed."""

    @property
    def files(self) -> dict[str, int]:
        """Name -> bytes, of what is durable."""
        return {name: len(self._synced[name]) for name in sorted(self._synced)}

    def kept(self, name: str) -> bytes | None:
        """What is durable, or will be there again."""
        return self._synced.get(name)

    def wipe(self) -> None:
        """As a new disk."""
        self._synced.clear()
        self._cached.clear()
        self._replaced.clear()
        self.mend()

    def fill(self) -> None:
        """From now on there is no room for any write; what is there can be read."""
        self._full = True

    def free(self) -> None:
        """There is room again."""
        self._full = False

    def fail_directory(self, name: str) -> None:
        """From now on nothing can be read or written below it; the whole disk has no name."""
        self._failed += (_below(name),)

    def mend_directory(self, name: str) -> None:
        self._failed = tuple(failed for failed in self._failed if failed != _below(name))

    def has_failed(self, name: str) -> bool:
        """Whether nothing can be read below this directory."""
        return _below(name).startswith(self._failed)

    def mend(self) -> None:
        """Whatever is wrong with it."""
        self._full, self._failed = False, ()

    def take_back(self, *, torn: bool) -> str | None:
        """A power failure on a disk that had lied: the last write to one of its files, which is drawn, had not become
        durable, or `torn`, only its first bytes.

        Returns its name; None: there was none.
        """
        if not self._replaced:
            return None
        name = self._random.choice(sorted(self._replaced))
        before, data = self._replaced.pop(name), self._synced[name]
        if torn:
            self._synced[name] = data[: self._random.randrange(len(data))] if data else b""
        elif before is None:
            self._synced.pop(name, None)
        else:
            self._synced[name] = before
        return name

    def _error_at(self, name: str) -> int | None:
        if name.startswith(self._failed):
            return errno.EIO
        return errno.ENOSPC if self._full else None

    def _refuse(self, name: str, *errors: int) -> None:
        if (error := self._error_at(name)) in errors and error is not None:
            raise OSError(error, os.strerror(error), name)

    def read(self, name: str) -> bytes | None:
        self._refuse(name, errno.EIO)
        for written, data in reversed(self._cached):
            if written == name:
                return data
        return self._synced.get(name)

    def write(self, name: str, data: bytes) -> None:
        self._refuse(name, errno.EIO, errno.ENOSPC)
        if self._caching:
            self._cached.append((name, bytes(data)))
        else:
            before = self._synced.get(name)
            if before is None or len(before) != len(data):
                self._replaced[name] = before
            self._synced[name] = bytes(data)

    @property
    def unsynced(self) -> tuple[str, ...]:
        """The names of the cached writes, oldest first; a name comes once for each of its writes."""
        return tuple(name for name, _ in self._cached)

    def cache(self) -> None:
        """From now on, a write is only in the cache."""
        self._caching = True

    def sync(self) -> None:
        """What is cached becomes durable, and the disk is a good one again."""
        self._caching = False
        self._keep(len(self._cached))

    def lose_unsynced(self) -> tuple[str, ...]:
        """A power failure: some of the oldest cached writes had become durable, at least the newest is lost.

        Returns the names of the lost writes, oldest first; nothing cached: nothing lost.
        """
        if not self._cached:
            return ()
        self._keep(self._random.randrange(len(self._cached)))
        lost = self.unsynced
        self._cached.clear()
        return lost

    def tear(self) -> str | None:
        """A power failure in the newest cached write: the older ones are durable, of it only the first bytes.

        Returns its name, or None if nothing is cached.
        """
        if not self._cached:
            return None
        name, data = self._cached.pop()
        self._keep(len(self._cached))
        self._synced[name] = data[: self._random.randrange(len(data))] if data else b""
        return name

    def _keep(self, count: int) -> None:
        for name, data in self._cached[:count]:
            self._synced[name] = data
        del self._cached[:count]


def _below(directory: str) -> str:
    """What the names begin with of all that is in it."""
    return f"{directory}/" if directory else ""
