"""What stays, comes back, or only grows: values and znodes over time, by ZooKeeper's log."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kcontroller_chaos.checking import LIVENESS, SAFETY, Verdict, ended_by_test
from kcontroller_chaos.history.read import Event, History
from kcontroller_chaos.znode_invariants.invariant import ZnodeInvariant, of_nodes, parameter, seconds, who
from kcontroller_chaos.znode_invariants.znodes import (
    DELETED,
    Life,
    Pattern,
    end_us,
    has_ended,
    lives,
    values,
)
from pytest_kcontroller.model.history import FaultApplied, FaultHealed, FaultSkipped, ProcessExited
from pytest_kcontroller.model.text import json_or_none

US_PER_S = 1_000_000


@dataclass(kw_only=True, eq=False)
class ValueNeverDecreases(ZnodeInvariant):
    """The whole number in the znode never becomes less, also when the znode is deleted and made again.

    It is decimal text, or, as Curator's DistributedAtomicLong (8) and SharedCount (4) write it, bytes in network order.
    """

    rule = "value-never-decreases"
    kind = SAFETY
    expected = "each value that is written is at least the one before it"
    source = "ZooKeeper's transaction log: the data of each write"
    path: str = parameter(..., "the znode; with * each that matches, by itself")
    field: str = parameter(
        "",
        "of data that is a JSON object: the field that has the number; without: data is the number, in text or bytes",
    )

    def check(self, history: History) -> Verdict:
        last: dict[str, tuple[int, Event]] = {}
        in_bytes = set[str]()
        """Those that have been a number in bytes: they stay it, also where four of them happen to be the text of one."""
        checks = strange = written = 0
        for txn, path, data in values(history, Pattern(self.path)):
            written += 1
            value = self._number(data)
            if not self.field and (path in in_bytes or value is None):
                value = _of_bytes(data, printable=path in in_bytes)
                in_bytes.update(() if value is None else (path,))
            if value is None:
                strange += 1
                continue
            before, last[path] = last.get(path), (value, txn)
            if before is None:
                continue
            checks += 1
            if value < before[0]:
                session = str(txn["session"])
                seen = f"{who(session, of_nodes(history))} wrote {value} after {before[0]}"
                witness = {"zxid": hex(txn["zxid"]), "session": session, "path": path, "value": value}
                witness |= {"before": before[0], "before_zxid": hex(before[1]["zxid"])}
                where = f"zxid {txn['zxid']:#x}, {path}"
                return Verdict.violated(checks, seen=seen, where=where, witness=witness)
        why = f"{'1 value is' if strange == 1 else f'{strange} values are'} no whole number" if strange else ""
        return Verdict.of(
            checks, why or (f"no second value of {self.path}" if written else f"nobody wrote {self.path}")
        )

    def _number(self, data: Any) -> int | None:
        value = json_or_none(data)
        if self.field:
            value = value.get(self.field) if isinstance(value, dict) else None
        return value if type(value) is int else None


def _of_bytes(data: Any, *, printable: bool) -> int | None:
    """A whole number with a sign, in 4 or 8 bytes, the highest first. Readable text is none, unless `printable`."""
    if isinstance(data, str):
        text, content = data, data.encode()
    else:
        text, content = "\0", base64.b64decode(data["base64"]) if isinstance(data, dict) else b""
    if len(content) not in (4, 8) or (text.strip().isprintable() and not printable):
        return None
    return int.from_bytes(content, "big", signed=True)


@dataclass(kw_only=True, eq=False)
class EphemeralBackWithin(ZnodeInvariant):
    """An ephemeral znode that went with its session is there again, made by a new session: of the same path, or, where names
    have numbers, of the same node.

    Time in which a fault is there does not count, and neither does time in which the node's process is down. What the old
    session left does not count as being back.
    """

    rule = "ephemeral-back-within"
    kind = LIVENESS
    expected = "a znode of a new session, in time"
    source = "ZooKeeper's transaction log: ends of sessions, and what new ones make"
    path: str = parameter(..., "the znodes: /my/members/*")
    within_s: float = parameter(..., "so long after its session has ended, without faults", unit="s", least=0.001)

    def check(self, history: History) -> Verdict:
        nodes, checks, absent = of_nodes(history), 0, list(self._absences(history))
        for life, back_us, took_us, _ in absent:
            if took_us > self.within_s * US_PER_S:
                how = "is not back" if back_us is None else f"is back after {seconds(took_us)} without faults"
                seen = f"{life.path} of {who(life.session, nodes)}, whose session ended at {seconds(life.to_us or 0)}, {how}"
                witness: dict[str, Any] = {"zxid": hex(life.to_zxid or 0), "session": life.session, "path": life.path}
                witness |= {"took_us": took_us, "back_us": back_us}
                where = f"zxid {life.to_zxid or 0:#x}, {life.path}"
                return Verdict.violated(checks + 1, seen=seen, where=where, witness=witness)
            checks += back_us is not None
        late = "the run ended, or the node was down, before one had to be back"
        any_made = any(life.ephemeral and Pattern(self.path).matches(life.path) for life in lives(history))
        none = "no session of such a znode has ended" if any_made else f"nobody made an ephemeral znode {self.path}"
        return Verdict.of(checks, late if absent else none)

    def pending(self, history: History) -> bool:
        return any(back is None and not down for _, back, _, down in self._absences(history))

    @property
    def patience_s(self) -> float:
        return self.within_s

    def _absences(self, history: History) -> Iterator[tuple[Life, int | None, int, bool]]:
        """Of each znode that went with its session: when it was back, after how long (until now, if it is not) without
        faults, and whether its node is down in the end."""
        pattern, nodes, last_us = Pattern(self.path), of_nodes(history), end_us(history)
        mine = [life for life in lives(history) if life.ephemeral and pattern.matches(life.path)]
        faults = _faults(history, last_us)
        for life in mine:
            if life.to_us is None or life.end == DELETED:
                continue
            back_us = next((max(one.from_us, life.to_us) for one in mine if _is_back(one, life, nodes)), None)
            down = _down(history, life, nodes, last_us)
            took_us = _without([*faults, *down], life.to_us, last_us if back_us is None else back_us)
            yield life, back_us, took_us, any(end >= last_us for _, end in down)


def _is_back(one: Life, gone: Life, nodes: dict[str, int] | None) -> bool:
    """`one` stands for `gone`, and was there at, or came after, its end."""
    same_node = nodes is not None and one.session in nodes and nodes[one.session] == nodes.get(gone.session)
    later = one.to_us is None or (gone.to_us is not None and one.to_us > gone.to_us)
    return one.session != gone.session and later and (one.path == gone.path or same_node)


def _faults(history: History, last_us: int) -> list[tuple[int, int]]:
    """From applied until healed, or skipped, which one is that has missed once it is taken back."""
    found = []
    for applied in history.of(FaultApplied):
        over = [
            int(event["t_us"])
            for event in history.of(FaultHealed, FaultSkipped)
            if event["fault"] == applied["fault"] and int(event["t_us"]) >= int(applied["t_us"])
        ]
        found.append((int(applied["t_us"]), min(over, default=last_us)))
    return found


def _down(history: History, life: Life, nodes: dict[str, int] | None, last_us: int) -> list[tuple[int, int]]:
    """While the process that had it has ended, or a test is about to end it, until the node has a session again."""
    if nodes is None or (node := nodes.get(life.session)) is None:
        return []
    opened = [
        int(txn["t_us"])
        for txn in history.txns
        if txn["type"] == "create-session" and nodes.get(str(txn["session"])) == node
    ]
    ends = [int(event["t_us"]) for event in history.of(ProcessExited) if event["node"] == node]
    ends += ended_by_test(history, node)  # it may close its session long before its process ends
    return [(at_us, min((t for t in opened if t > at_us), default=last_us)) for at_us in ends if at_us <= last_us]


def _without(away: list[tuple[int, int]], from_us: int, to_us: int) -> int:
    """So much of a time is in none of these."""
    left, at_us = 0, from_us
    for begin, end in sorted(away):
        left += max(0, min(begin, to_us) - at_us)
        at_us = max(at_us, min(end, to_us))
    return left + max(0, to_us - at_us)


@dataclass(kw_only=True, eq=False)
class ExistsAfterHealing(ZnodeInvariant):
    """In the end the znode is there; of a pattern at least so many."""

    rule = "exists-after-healing"
    kind = LIVENESS
    expected = "it is there at the end, after everything was healed"
    source = "ZooKeeper's transaction log"
    path: str = parameter(..., "the znode, or a pattern: /my/members/*")
    count: int = parameter(1, "at least so many", least=1)

    def check(self, history: History) -> Verdict:
        return self._now(history) if has_ended(history) else Verdict.unknown("the run did not reach its end")

    def pending(self, history: History) -> bool:
        return self._now(history).verdict != "held"

    def _now(self, history: History) -> Verdict:
        mine = [life for life in lives(history) if Pattern(self.path).matches(life.path)]
        there = sorted(life.path for life in mine if life.to_us is None)
        if len(there) >= self.count:
            return Verdict.of(len(there))
        gone = max((life for life in mine if life.to_us is not None), key=lambda one: one.to_us or 0, default=None)
        seen = f"{len(there)} of {self.count}: {', '.join(there) or 'none'}"
        witness: dict[str, Any] = {"path": self.path, "there": there}
        if gone is not None:
            seen += f"; {gone.path} of {who(gone.session, of_nodes(history))} went last, at {seconds(gone.to_us or 0)}"
            witness |= {"path": gone.path, "zxid": hex(gone.to_zxid or 0), "session": gone.session}
        return Verdict.violated(1, seen=seen, where="the end", witness=witness)
