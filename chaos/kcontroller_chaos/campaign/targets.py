"""Whom a fault may be said to hit: what is said to somebody who wrote something else. Who it then is: play/targets.py."""

from __future__ import annotations

from kcontroller_chaos.catalogue.placement import TARGETS, ZOOKEEPER
from pytest_kcontroller.model.suggestions import nearest
from pytest_kcontroller.model.text import whole_number

OF_PROGRAMS = ("owner-of:/a/znode", "random", "node:N")
"""Those that a program of the user's can be, but for ZOOKEEPER, which needs not be said."""


def of_programs(target: str) -> bool:
    """Whether a program of the user's can be this target."""
    return target in ("random", ZOOKEEPER) or target.partition(":")[0] in ("owner-of", "node")


def no_target(target: str, *, programs: bool) -> tuple[str, str] | None:
    """What is wrong with it, whoever there is, and a hint, which names what there can be of `programs` of the user's, or of
    nodes of ours. None: it can be somebody."""
    name, colon, argument = target.partition(":")
    if name == "owner-of" and colon:
        why = why_no_owner(argument)
        return None if why is None else (f"{target!r} names no znode: {why}", "write owner-of:/a/znode")
    plain = target in [one for one in TARGETS if ":" not in one]
    topic, _, partition = argument.rpartition("-")
    numbered = argument if name == "node" else partition if name == "leader-of" and topic else None
    if plain or whole_number(numbered) is not None:
        return None
    return f"{target!r} is no target", nearest(target, OF_PROGRAMS if programs else TARGETS, before=":")


def why_no_owner(path: str) -> str | None:
    """Why nobody can own it: what is no path by ZooKeeper's rules, or would be that of many. None: somebody can."""
    if not path.startswith("/"):
        return "a path begins with /"
    parts = path[1:].split("/")
    if path != "/" and any(part in ("", ".", "..") for part in parts):
        return "no part of a path is empty, . or .."
    return "it is one znode, or the directory of a lock, and no pattern" if "*" in path else None
