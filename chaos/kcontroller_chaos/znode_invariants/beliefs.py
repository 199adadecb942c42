"""Who believes to lead, and from when to when: by the lines that the program itself writes (`program.said`).

`{"leads": "/my/leader", "epoch": 7}` begins a belief, `{"follows": "/my/leader"}` ends it, and so does the end of its
process; that the process stands still does not. A line that names no time of its own (`at_ns`) was written somewhere between
two looks of the harness: only what holds wherever that was is certain.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kcontroller_chaos.history.read import Event, History
from kcontroller_chaos.znode_invariants.znodes import Pattern, end_us, lock_of
from pytest_kcontroller.model.history import FaultAsked, ProcessExited, ProgramSaid
from pytest_kcontroller.model.text import printable, whole_number


@dataclass(slots=True, kw_only=True, eq=False)
class Belief:
    """`node` believes to own `lock`, certainly from `from_us` until `sure_us`; at `to_us` it has ended (None: it has not).
    `epoch` None: it names none. `said_us`: when the line that began it was read."""

    lock: str
    node: int
    epoch: int | None
    said_us: int
    from_us: int
    sure_us: int
    to_us: int | None = None


def beliefs(history: History, pattern: Pattern) -> tuple[Belief, ...]:
    """Of what the pattern names, until the end, by the time from which. A lock is called by its directory, or by
    the path of a znode in it."""
    last_us = end_us(history)
    now: dict[tuple[int, str], Belief] = {}
    found: list[Belief] = []

    def end(key: tuple[int, str], at_us: int, sure_us: int) -> None:
        if (belief := now.pop(key, None)) is not None:
            belief.to_us, belief.sure_us = at_us, max(belief.from_us, sure_us)

    for event in history.of(ProgramSaid, ProcessExited):
        t_us, node = int(event["t_us"]), int(event["node"])
        if t_us > last_us:
            break
        if event["kind"] == ProcessExited.kind:
            for key in [key for key in now if key[0] == node]:
                end(key, t_us, _alive_us(history, event))
            continue
        said = event["said"] if isinstance(event["said"], Mapping) else {}
        if (lock := _named(said.get("leads", said.get("follows")), pattern)) is None:
            continue
        if (held := now.get((node, lock))) is not None and "leads" in said and held.epoch == _epoch(said):
            continue  # it says so again
        exact_us = event.get("at_us")
        end((node, lock), _or(exact_us, t_us), _or(exact_us, event["since_us"]))
        if "leads" in said:
            belief = Belief(
                lock=lock, node=node, epoch=_epoch(said), said_us=t_us, from_us=_or(exact_us, t_us), sure_us=last_us
            )
            now[node, lock] = belief
            found.append(belief)
    return tuple(sorted(found, key=lambda belief: belief.from_us))


def who_leads(history: History, but: Pattern) -> set[str]:
    """The znodes that programs have said to lead, whichever they are, but those that this pattern names: of these it was
    said after the end."""
    said = (event["said"].get("leads") for event in history.of(ProgramSaid) if isinstance(event["said"], Mapping))
    return {printable(path, 100) for path in said if isinstance(path, str) and _named(path, but) is None}


def _or(exact_us: int | None, bound_us: int) -> int:
    return int(bound_us if exact_us is None else exact_us)


def _alive_us(history: History, exited: Event) -> int:
    """The last moment at which the process was certainly there: a fault was asked to end it, or it wrote a line."""
    node, t_us = exited["node"], int(exited["t_us"])
    seen = [int(event["t_us"]) for event in history.of(FaultAsked) if node in event["nodes"] and event["ends_process"]]
    seen += [int(event["since_us"]) for event in history.of(ProgramSaid) if event["node"] == node]
    return max((at_us for at_us in seen if at_us <= t_us), default=0)


def uncounted(history: History, pattern: Pattern) -> list[str]:
    """Sentences, for people: what programs said of their beliefs that counts for nothing, the first of each kind."""
    last_us, found = end_us(history), dict[str, str]()
    for event in history.of(ProgramSaid):
        said = event["said"] if isinstance(event["said"], Mapping) else {}
        if int(event["t_us"]) > last_us or _named(said.get("leads", said.get("follows")), pattern) is None:
            continue
        if said.get("epoch") is not None and _epoch(said) is None:
            found.setdefault("epoch", _does_not_count(event, "epoch", "no whole number"))
        if said.get("at_ns") is not None and event.get("at_us") is None:
            found.setdefault("at_ns", _does_not_count(event, "at_ns", "no time of this run by the monotonic clock"))
    return list(found.values())


def _does_not_count(event: Event, field: str, why: str) -> str:
    value = printable(json.dumps(event["said"][field], ensure_ascii=False), 40)
    return f"node {event['node']}'s {field} {value} is {why}, and does not count"


def _epoch(said: Mapping[str, Any]) -> int | None:
    return whole_number(said.get("epoch"))


def _named(path: object, pattern: Pattern) -> str | None:
    """The lock that a line is about, if the pattern means it."""
    if not isinstance(path, str):
        return None
    return lock_of(path) if pattern.owns(path) or pattern.owns(f"{path}/0000000000") else None
