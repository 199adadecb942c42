"""Znodes are deleted with all that is below them, behind the fence (kafka.zk.KafkaZkClient.deleteRecursive, 3.9)."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_kcontroller.zookeeper.session import Delete
from pytest_kcontroller.zookeeper.store import Fence, Store, Written


async def delete_recursively(store: Store, paths: Sequence[str], *, fence: Fence) -> None:
    """In multis of many znodes. It is no transaction as a whole: what was begun and fenced, somebody else goes on with. One
    that is not there is no mistake, and what is made below meanwhile goes too. Raises FencedError."""
    while True:
        levels = await _levels(store, paths)
        if not levels:
            return
        ops = [Delete(path) for level in reversed(levels) for path in level]
        if all(isinstance(result, Written) for result in await store.write_each(ops, fence=fence)):
            return


async def _levels(store: Store, paths: Sequence[str]) -> list[list[str]]:
    """Those of `paths` that are there, their children, the children of these, ..."""
    levels: list[list[str]] = []
    while paths:
        found: list[str] = []
        below: list[str] = []
        for path, names in zip(paths, await store.children_of(paths), strict=True):
            if names is not None:
                found.append(path)
                below += [f"{path}/{name}" for name in names]
        if found:
            levels.append(found)
        paths = below
    return levels
