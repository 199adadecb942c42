"""The lives of znodes and who owned what, by ZooKeeper's own log: values made from a history, for invariants and pictures.

Owner of a znode is the session that made it, as an ephemeral one, until it is deleted or the session has ended. Of a lock,
as the recipes of kazoo and Curator make it (a directory of znodes with ZooKeeper's sequence numbers), it is the session of
the lowest number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from kcontroller_chaos.checking import WRITES, accepted
from kcontroller_chaos.history.read import Event, History
from pytest_kcontroller.cluster.owners import SEQUENCE
from pytest_kcontroller.model.history import NodeReady, RunEnded, ZkTree

DELETED, CLOSED, EXPIRED = "deleted", "closed", "expired"
"""How a life ends: by a request, or with its session, which its client has closed or ZooKeeper has given up."""
_CREATES = ("create", "create2", "create-container", "create-ttl")


@dataclass(frozen=True, slots=True)
class Pattern:
    """Znodes by their path: `*` stands for any text within one name, `**` at the end for everything below."""

    text: str

    def matches(self, path: str) -> bool:
        return _compiled(self.text).fullmatch(path) is not None

    def owns(self, path: str) -> bool:
        """Whether who makes this znode owns what the pattern names: it matches, or is in the queue of a lock that does."""
        return self.matches(path) or (_sequence(path) is not None and self.matches(lock_of(path)))


@lru_cache(maxsize=64)
def _compiled(text: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*|\*)", text)
    return re.compile("".join({"**": ".+", "*": "[^/]*"}.get(part, re.escape(part)) for part in parts))


def why_no_path(text: str) -> tuple[str, str] | None:
    """What is wrong with a path or pattern, and a hint; None: nothing."""
    hint = "as /my/leader, /my/members/* or /my/data/**"
    if not text.startswith("/") or text == "/":
        return f"{text!r} is no path of a znode: it does not begin with `/`, or is the root", hint
    if text.endswith("/") or "//" in text or not text.isprintable():
        return f"{text!r} is no path of a znode: an empty name, or what cannot be printed", hint
    if "**" in text.removesuffix("/**"):
        return f"{text!r}: `**` stands at the end only, as a name of its own", hint
    return None


@dataclass(slots=True, kw_only=True, eq=False)
class Life:
    """One znode from its creation to its end; `to_zxid` None: it is there at the end of the history. `ended_by`: the session
    that deleted it, or that has ended."""

    path: str
    session: str
    ephemeral: bool
    from_zxid: int
    from_us: int
    to_zxid: int | None = None
    to_us: int | None = None
    end: str = ""
    ended_by: str = ""

    def spans(self, t_us: int) -> bool:
        return self.from_us <= t_us and (self.to_us is None or t_us < self.to_us)


@dataclass(slots=True, kw_only=True, eq=False)
class Ownership:
    """`lock` (a znode, or the directory of a lock) is owned by `session`, which has `znode`. `end` as of a Life; empty: it
    owns still."""

    lock: str
    znode: str
    session: str
    from_zxid: int
    from_us: int
    to_zxid: int | None = None
    to_us: int | None = None
    end: str = ""


def end_us(history: History) -> int:
    """When the run, or a test's check, looked at the end: how all is taken down afterwards is nobody's affair."""
    looked = history.of(RunEnded) or history.of(ZkTree, NodeReady)[-1:]
    return max((int(event["t_us"]) for event in looked or history.events), default=0)


def has_ended(history: History) -> bool:
    """Whether it was looked at in the end."""
    return bool(history.of(RunEnded, ZkTree, NodeReady))


def txns(history: History) -> Iterator[Event]:
    """ZooKeeper's transactions until the end, in zxid order."""
    last_us = end_us(history)
    return (txn for txn in history.txns if int(txn["t_us"]) <= last_us)


def lock_of(path: str) -> str:
    """What is owned by whoever owns this znode: itself, or the directory of a lock."""
    return path.rpartition("/")[0] if _sequence(path) is not None else path


def _sequence(path: str) -> int | None:
    found = SEQUENCE.search(path.rpartition("/")[2])
    return None if found is None else int(found[0])


@lru_cache(maxsize=1)  # all of a file's invariants ask for those of the run that is judged
def lives(history: History) -> tuple[Life, ...]:
    """Of every znode, by their creation."""
    found: list[Life] = []
    there: dict[str, Life] = {}

    def end(life: Life, txn: Event, how: str) -> None:
        life.to_zxid, life.to_us, life.end, life.ended_by = int(txn["zxid"]), int(txn["t_us"]), how, str(txn["session"])

    for txn in txns(history):
        session = str(txn["session"])
        if txn["type"] == "close-session":
            for path in [path for path, life in there.items() if life.ephemeral and life.session == session]:
                end(there.pop(path), txn, CLOSED if txn.get("cxid") else EXPIRED)
        for op in accepted(txn):
            if op["type"] == "delete" and op["path"] in there:
                end(there.pop(op["path"]), txn, DELETED)
            elif op["type"] in _CREATES:
                life = Life(
                    path=op["path"], session=session, ephemeral=bool(op.get("ephemeral")),
                    from_zxid=int(txn["zxid"]), from_us=int(txn["t_us"]),
                )  # fmt: skip
                there[life.path] = life
                found.append(life)
    return tuple(found)


def ownerships(history: History, pattern: Pattern) -> tuple[Ownership, ...]:
    """Who owned what the pattern names, by the time from which."""
    moments: list[tuple[int, bool, Life]] = []
    for life in lives(history):
        if life.ephemeral and pattern.owns(life.path):
            moments.append((life.from_zxid, True, life))
            if life.to_zxid is not None:
                moments.append((life.to_zxid, False, life))
    there: dict[str, list[Life]] = {}
    now: dict[str, tuple[Life, Ownership]] = {}
    found: list[Ownership] = []
    for zxid, begins, life in sorted(moments, key=lambda moment: moment[:2]):
        lock, at_us = lock_of(life.path), life.from_us if begins or life.to_us is None else life.to_us
        standing = there.setdefault(lock, [])
        standing.append(life) if begins else standing.remove(life)
        owner = min(standing, key=lambda one: _sequence(one.path) or 0, default=None)
        holder, owned = now.get(lock, (None, None))
        if holder is owner:
            continue
        if owned is not None:
            owned.to_zxid, owned.to_us, owned.end = zxid, at_us, "" if begins else life.end
            del now[lock]
        if owner is not None:
            begun = Ownership(lock=lock, znode=owner.path, session=owner.session, from_zxid=zxid, from_us=at_us)
            now[lock] = owner, begun
            found.append(begun)
    return tuple(found)


def values(history: History, pattern: Pattern) -> Iterator[tuple[Event, str, object]]:
    """(transaction, path, data) of every write of data."""
    for txn in txns(history):
        for op in accepted(txn):
            if op["type"] in (*WRITES, *_CREATES) and pattern.matches(op["path"]):
                yield txn, op["path"], op.get("data")
