"""Who owns a znode, by ZooKeeper: the session of an ephemeral, or in a recipe that of the child that comes first.

Recipes for locks and elections (ZooKeeper's own, kazoo's, Curator's, go-zookeeper's) have no ephemeral at the path that they
are given: each candidate has a sequential one below it, and the lowest number leads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pytest_kcontroller.model.text import printable
from pytest_kcontroller.zookeeper.session import GetChildren, GetData, NoNodeError, UnexpectedZkError, ZkSession

SEQUENCE = re.compile(r"\d{10}$")
"""What ZooKeeper puts behind the name of a sequential znode. Without a sign: the hyphen of Curator's `latch-0000000001` is
none, and nobody has two thousand million candidates."""

SHOWN = 6
"""Of the children of a znode, where somebody may have misspelt one."""


def foremost(children: Iterable[str]) -> str | None:
    """The sequential one with the lowest number; None: none of them is sequential."""
    numbered = {name: int(found[0]) for name in children if (found := SEQUENCE.search(name)) is not None}
    return min(numbered, key=lambda name: (numbered[name], name), default=None)


async def read_owner(session: ZkSession, path: str) -> int:
    """The session that owns `path`, or its foremost child; 0: nobody does. Raises what `submit` raises."""
    try:
        if owner := await _owner(session, path):
            return owner
        first = foremost(getattr(await session.submit(GetChildren(path)), "names", ()))
        return await _owner(session, f"{path.rstrip('/')}/{first}") if first is not None else 0
    except NoNodeError:
        return 0


async def around(session: ZkSession, path: str) -> str:
    """For people: what is below a path or, if it is not there, below the nearest of its parents that is."""
    there = path.rstrip("/") or "/"
    while True:
        try:
            names = getattr(await session.submit(GetChildren(there)), "names", ())
        except NoNodeError:
            there = there.rpartition("/")[0] or "/"
            continue
        except UnexpectedZkError:  # an ACL, say
            return f"{there} may not be read"
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        return f"{there} has {', '.join(printable(name, 100) for name in names[:SHOWN]) or 'no children'}{more}"


async def _owner(session: ZkSession, path: str) -> int:
    found = await session.submit(GetData(path))
    return int(getattr(getattr(found, "stat", None), "ephemeral_owner", 0))
