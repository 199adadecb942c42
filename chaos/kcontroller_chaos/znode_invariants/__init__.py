"""Invariants of any system, over znodes of its own: `[[invariants]]` of a campaign file, and the same for plugins and tests.

Public: one function for each kind. Each gives a tuple of invariants, so that they are added: a plugin returns
`one_owner("/my/leader") + value_never_decreases("/my/epoch")`. `path` is a znode or a pattern: `*` is any text within a
name, `**` at the end everything below. Each raises UsageError: a path that is none, or a time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kcontroller_chaos.znode_invariants.invariant import ZnodeInvariant
from kcontroller_chaos.znode_invariants.lasting import EphemeralBackWithin, ExistsAfterHealing, ValueNeverDecreases
from kcontroller_chaos.znode_invariants.owning import OneBeliever, OneOwner, OnlyOwnerWrites, OwnedAfterHealing
from pytest_kcontroller.errors import UsageError

__all__ = [
    "EXAMPLES",
    "KINDS",
    "ZnodeInvariant",
    "ephemeral_back_within",
    "exists_after_healing",
    "one_owner",
    "only_owner_writes",
    "owned_after_healing",
    "value_never_decreases",
]

KINDS: Mapping[str, tuple[type[ZnodeInvariant], ...]] = {
    "one_owner": (OneOwner, OneBeliever),
    "only_owner_writes": (OnlyOwnerWrites,),
    "value_never_decreases": (ValueNeverDecreases,),
    "ephemeral_back_within": (EphemeralBackWithin,),
    "owned_after_healing": (OwnedAfterHealing,),
    "exists_after_healing": (ExistsAfterHealing,),
}
"""`kind` of a campaign file -> a class for each verdict; they have the same parameters."""

EXAMPLES: Mapping[str, str] = {
    kind: f'[[invariants]]\nkind = "{kind}"\n{keys}\n'
    for kind, keys in {
        "one_owner": 'path = "/my/leader"',
        "only_owner_writes": 'path = "/my/leader"\nwritten_path = "/my/data/**"',
        "value_never_decreases": 'path = "/my/epoch"',
        "ephemeral_back_within": 'path = "/my/members/*"\nwithin_s = 5',
        "owned_after_healing": 'path = "/my/leader"',
        "exists_after_healing": 'path = "/my/members/*"\ncount = 3',
    }.items()
}
"""`kind` -> how a campaign file asks for it."""

_SECONDS = {"ms": 0.001, "s": 1.0, "min": 60.0}


def one_owner(path: str) -> tuple[ZnodeInvariant, ...]:
    """At most one session owns the znode, by ZooKeeper's log; and at most one believes to, by the program's own lines."""
    return _made("one_owner", path=path)


def only_owner_writes(path: str, written_path: str) -> tuple[ZnodeInvariant, ...]:
    """Only the session that owns `path` writes what `written_path` names."""
    return _made("only_owner_writes", path=path, written_path=written_path)


def value_never_decreases(path: str, *, field: str = "") -> tuple[ZnodeInvariant, ...]:
    """The whole number in the znode (in `field` of its JSON object) never becomes less."""
    return _made("value_never_decreases", path=path, field=field)


def ephemeral_back_within(path: str, within: str | float) -> tuple[ZnodeInvariant, ...]:
    """A znode that went with its session is made again by a new one, `within` "5s", "500ms" or a number of seconds."""
    return _made("ephemeral_back_within", path=path, within_s=_seconds(within))


def owned_after_healing(path: str) -> tuple[ZnodeInvariant, ...]:
    """In the end somebody owns it."""
    return _made("owned_after_healing", path=path)


def exists_after_healing(path: str, *, count: int = 1) -> tuple[ZnodeInvariant, ...]:
    """In the end it is there; of a pattern at least `count`."""
    return _made("exists_after_healing", path=path, count=count)


def _made(kind: str, **parameters: Any) -> tuple[ZnodeInvariant, ...]:
    made = tuple(one(**parameters) for one in KINDS[kind])
    if (wrong := made[0].wrong()) is not None:
        raise UsageError(wrong[1], where=f"`{kind}({wrong[0]}=...)`", hint=wrong[2])
    return made


def _seconds(value: str | float) -> float:
    if isinstance(value, int | float) and value > 0:
        return float(value)
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?(ms|s|min)", str(value))
    if found is None or float(found[1]) <= 0:
        raise UsageError(f"{value!r} is no time", where="`within`", hint='write "5s", "500ms" or a number of seconds')
    return float(found[1]) * _SECONDS[found[2]]
