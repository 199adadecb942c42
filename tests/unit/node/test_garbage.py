"""A node looks for rubbish between two turns of its loop, and not among what it keeps."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable, Iterator

import pytest

from pytest_kcontroller.node import process


class Knot:
    """Refers to itself: only the garbage collector frees it."""

    def __init__(self) -> None:
        self.self = self


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(process, "GARBAGE_EVERY_S", 0.0)
    yield
    gc.unfreeze()


def collect_until(done: Callable[[], bool], make: Callable[[], object]) -> object:
    """Runs the collector; what `make` makes in it is returned once `done` is true."""

    async def main() -> object:
        collecting = asyncio.create_task(process.collect_garbage())
        await asyncio.sleep(0)
        assert not gc.isenabled()
        made = make()
        while not done():  # noqa: ASYNC110 - what the collector has done is no event
            await asyncio.sleep(0)
        collecting.cancel()
        await asyncio.gather(collecting, return_exceptions=True)
        return made

    return asyncio.run(main())


def test_rubbish_is_found() -> None:
    knots = list[weakref.ref[Knot]]()
    collect_until(lambda: bool(knots) and knots[0]() is None, lambda: knots.append(weakref.ref(Knot())))
    assert gc.isenabled()


def test_what_is_much_is_set_aside() -> None:
    gc.collect()
    before = gc.get_freeze_count()
    kept = collect_until(
        lambda: gc.get_freeze_count() > before + process.MANY_OBJECTS,
        lambda: [[number] for number in range(2 * process.MANY_OBJECTS)],
    )
    assert kept
