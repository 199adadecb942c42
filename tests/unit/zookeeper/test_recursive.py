"""Znodes are deleted with all that is below them, on a simulated ZooKeeper that others write to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_kcontroller.zookeeper.recursive import delete_recursively
from pytest_kcontroller.zookeeper.session import Create, Delete, Multi
from pytest_kcontroller.zookeeper.store import Fence, FencedError
from tests.tools.controller_box import ControllerBox

TREES = [f"/admin/t{number}" for number in range(3)]


@pytest.fixture
def box() -> Iterator[ControllerBox]:
    """Its controller is the one that deletes; three trees of 14 znodes."""
    with ControllerBox(brokers=(1,), chunk_ops=10) as box:
        box.start()
        for tree in TREES:
            box.write(Create(tree), *(Create(f"{tree}/{n}") for n in range(12)), Create(f"{tree}/3/below"))
        box.forget()
        yield box


def delete(box: ControllerBox, *paths: str, version: int | None = None) -> None:
    term = box.controller.term
    assert term is not None
    fence = Fence(term.context.epoch_version if version is None else version)
    box.act(delete_recursively(term.store, paths, fence=fence))


def left(box: ControllerBox) -> list[str]:
    return [name for name in box.children("/admin") if name.startswith("t")]


def test_all_that_is_below_goes_first_in_multis_of_many(box: ControllerBox) -> None:
    delete(box, *TREES[:2], "/admin/none")
    assert left(box) == ["t2"]
    gone = [str(op.path) for op in box.written() if op.type == "delete"]
    assert len(gone) == 28
    assert all(gone.index(path) < gone.index(path.rpartition("/")[0]) for path in gone if path.count("/") > 2)
    assert len(box.requests(Multi)) == 3


def test_nothing_goes_behind_a_fence_that_is_shut(box: ControllerBox) -> None:
    with pytest.raises(FencedError):
        delete(box, *TREES, version=7)
    assert left(box) == ["t0", "t1", "t2"]
    assert box.written() == []


def test_what_others_make_and_delete_meanwhile_is_no_hindrance(box: ControllerBox) -> None:
    term = box.controller.term
    assert term is not None
    task = box.begin(_after(box, term.context.epoch_version))
    assert task.result() is None
    assert left(box) == ["t1", "t2"]


async def _after(box: ControllerBox, version: int) -> None:
    """Between the look at the tree and its deletion a znode comes, and another one goes."""
    term = box.controller.term
    assert term is not None
    store, interfered = term.store, []
    children_of = store.children_of

    async def look(paths: list[str]) -> list[tuple[str, ...] | None]:
        found = await children_of(paths)
        if not interfered and not any(found):  # the last level has been seen
            interfered.append(True)
            await store.write_all([Create("/admin/t0/5/late"), Delete("/admin/t0/7")])
        return found

    store.children_of = look  # type: ignore[method-assign, assignment]
    await delete_recursively(store, ["/admin/t0"], fence=Fence(version))
    assert interfered
