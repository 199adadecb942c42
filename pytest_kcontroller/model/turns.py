"""Long work in many turns of the event loop, so that nothing else waits for all of it: pings, timers, answers.

How much is done in a turn is a number of items, never a time: one seed stays one history. Few items are one turn, so a small
cluster runs as if nothing of this were here.

Whoever uses it says why nobody may be surprised by what is done by half (in the controller: one event at a time).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import islice
from typing import Generic, Self, TypeVar

T = TypeVar("T")

PIECE = 1000
"""Items in one turn: partitions, mostly. One costs up to some 20 us of a busy core, so a turn is 20 ms then."""

MOST = 1000
"""Partitions in one request of a controller of ours; what does not fit is in the next one to the same broker."""


class Breather:
    """`await breather.after(n)` when n items are done: after each `every` of them everything else has its turn."""

    __slots__ = ("_done", "_every")

    def __init__(self, every: int = PIECE) -> None:
        self._done, self._every = 0, every

    async def after(self, items: int) -> None:
        self._done += items
        if self._done >= self._every:
            self._done = 0
            await asyncio.sleep(0)


class Pieces(Generic[T]):
    """`async for piece in Pieces(items)`: lists of at most `size`, in order; between two of them everything else has its
    turn. `items` must not change meanwhile."""

    __slots__ = ("_begun", "_items", "_size")

    def __init__(self, items: Iterable[T], size: int = PIECE) -> None:
        self._items, self._size, self._begun = iter(items), size, False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[T]:
        piece = list(islice(self._items, self._size))
        if not piece:
            raise StopAsyncIteration
        if self._begun:
            await asyncio.sleep(0)
        self._begun = True
        return piece
