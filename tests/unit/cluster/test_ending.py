"""What ends many things: each is ended, and every failure is told."""

from __future__ import annotations

import asyncio

import pytest

from pytest_kcontroller.cluster.ending import End, end_all
from pytest_kcontroller.errors import EnvironmentFailure


def ending(name: str, ended: list[str], failure: BaseException | None = None) -> End:
    async def end() -> None:
        ended.append(name)
        if failure is not None:
            raise failure

    return end


def test_all_are_ended_and_every_failure_is_told() -> None:
    ended: list[str] = []
    deaf = [EnvironmentFailure(f"{name} did not end") for name in ("node 0", "node 2", "ZooKeeper")]
    nodes = [ending("0", ended, deaf[0]), ending("1", ended), ending("2", ended, deaf[1])]
    with pytest.raises(EnvironmentFailure, match=r"^node 0 did not end\nnode 2 did not end\nZooKeeper did not end$"):
        asyncio.run(end_all(nodes, [ending("ZooKeeper", ended, deaf[2])], [ending("directory", ended)]))
    assert ended == ["0", "1", "2", "ZooKeeper", "directory"]


@pytest.mark.parametrize("bug", [ZeroDivisionError(), asyncio.CancelledError()])
def test_what_is_no_failure_of_the_surroundings_is_raised_first(bug: BaseException) -> None:
    ended: list[str] = []
    with pytest.raises(type(bug)):
        asyncio.run(end_all([ending("0", ended, EnvironmentFailure("deaf")), ending("1", ended, bug)]))
    assert ended == ["0", "1"]


def test_one_failure_is_what_it_was() -> None:
    failure = EnvironmentFailure("node 0 did not end", where="log")
    with pytest.raises(EnvironmentFailure) as raised:
        asyncio.run(end_all([ending("0", [], failure)], []))
    assert raised.value is failure
