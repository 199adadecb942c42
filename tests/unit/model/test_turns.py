from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

import pytest

from pytest_kcontroller.model.turns import Breather, Pieces


def turns_of(work: Callable[[], Awaitable[object]]) -> int:
    """How many turns another task has had before `work` is done."""

    async def main() -> int:
        turns = 0
        done = asyncio.ensure_future(work())
        while not done.done():
            await asyncio.sleep(0)
            turns += 1
        return turns

    return asyncio.run(main())


async def in_pieces(items: Iterable[int], size: int) -> list[list[int]]:
    return [piece async for piece in Pieces(items, size)]


@pytest.mark.parametrize(
    ("count", "pieces"), [(0, []), (1, [[0]]), (3, [[0, 1, 2]]), (4, [[0, 1, 2], [3]]), (6, [[0, 1, 2], [3, 4, 5]])]
)
def test_pieces_are_all_items_in_order_with_a_turn_between_two(count: int, pieces: list[list[int]]) -> None:
    assert asyncio.run(in_pieces(iter(range(count)), 3)) == pieces
    at_once = turns_of(lambda: in_pieces([], 3))
    assert turns_of(lambda: in_pieces(range(count), 3)) == at_once + max(0, len(pieces) - 1)


@pytest.mark.parametrize(("items", "breaths"), [([], 0), ([4], 0), ([5], 1), ([2, 2, 1, 4], 1), ([99, 99], 2)])
def test_a_breather_counts_items(items: list[int], breaths: int) -> None:
    async def work() -> None:
        breather = Breather(every=5)
        for done in items:
            await breather.after(done)

    async def nothing() -> None: ...

    assert turns_of(work) == turns_of(nothing) + breaths
