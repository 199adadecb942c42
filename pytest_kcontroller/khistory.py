"""What the fixture `khistory` gives: the events of a test's cluster, as of the moment of each look."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kcontroller_chaos.history import History

Event = Mapping[str, Any]


class KHistory:
    """All events by time (docs/formats.md): of the nodes, of ZooKeeper's own log, and of what the test did."""

    def __init__(self, read: Callable[[], History]) -> None:
        self._read = read

    @property
    def events(self) -> tuple[Event, ...]:
        """All of them."""
        return self._read().events

    def of(self, *kinds: str) -> tuple[Event, ...]:
        """Those of these kinds."""
        return self._read().of(*kinds)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)
