"""Znodes that brokers write to tell the controller something, numbered by ZooKeeper: read, acted upon, deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from pytest_kcontroller.controller.fences import fence_of_notifications
from pytest_kcontroller.controller.term import Term
from pytest_kcontroller.zookeeper.session import Delete
from pytest_kcontroller.zookeeper.znodes import CorruptZnodeError

T = TypeVar("T")


@asynccontextmanager
async def notifications(term: Term, above: str, decode: Callable[[bytes, str], T]) -> AsyncIterator[list[T]]:
    """What the children of `above` say, in their order; they are deleted at the end of the block, also when it fails.

    `above` is watched again. One that cannot be understood is named, and goes with the others: nobody will write it anew.
    """
    paths = await _watch(term, above)
    try:
        yield [read for read in await _read(term, paths, decode) if read is not None]
    finally:
        await _delete(term, paths)


async def forget_notifications(term: Term, above: str) -> None:
    """At failover: what they tell of is read next anyway."""
    await _delete(term, await _watch(term, above))


async def _watch(term: Term, above: str) -> list[str]:
    children = await term.store.children(above, watch=True)
    return [f"{above}/{name}" for name in sorted(children.names)] if children else []


async def _read(term: Term, paths: list[str], decode: Callable[[bytes, str], T]) -> list[T | None]:
    said: list[T | None] = []
    for path, node in zip(paths, await term.store.get_many(paths), strict=True):
        try:
            said.append(None if node is None else decode(node.data, path))
        except CorruptZnodeError as bad:
            term.corrupt(str(bad))
    return said


async def _delete(term: Term, paths: list[str]) -> None:
    if paths:
        await term.store.write_each([Delete(path) for path in paths], fence=fence_of_notifications(term.context))
