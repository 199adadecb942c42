"""timeline.json of one run (docs/formats.md), read for drawing. Whatever is in the file, reading it gives spans or a reason.

Only the runs that are shown are read; no number of a report comes from here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA_VERSION = 1
#: More is no picture any more.
MOST_SPANS = 2_000
_LARGEST_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Span:
    from_us: int
    to_us: int


@dataclass(frozen=True, slots=True)
class Controller(Span):
    view: str  # zookeeper, node
    node: int | None
    epoch: int | None
    session: str


@dataclass(frozen=True, slots=True)
class Owner(Span):
    """Of a znode of the user's own."""

    view: str  # zookeeper, program
    path: str
    node: int | None
    epoch: int | None
    session: str


@dataclass(frozen=True, slots=True)
class Leader(Span):
    partition: str
    leader: int | None
    leader_epoch: int | None
    controller_epoch: int | None


@dataclass(frozen=True, slots=True)
class Session(Span):
    view: str  # zookeeper, client
    node: int | None
    session: str
    state: str
    ended: str


@dataclass(frozen=True, slots=True)
class Fault(Span):
    """From applied (or asked) until healed."""

    id: str
    kind: str
    mode: str
    node: int | None
    status: str
    observed_us: int | None


@dataclass(frozen=True, slots=True)
class Moment:
    t_us: int
    writer: str
    text: str
    witness: bool


@dataclass(frozen=True, slots=True)
class Window(Span):
    about: str
    name: str
    at_us: int
    left_out: int
    events: tuple[Moment, ...]
    partition: str  # what its witness is about; empty: no partition, or an older run
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    from_us: int
    to_us: int
    ended: bool
    controllers: tuple[Controller, ...]
    owners: tuple[Owner, ...]
    leaders: tuple[Leader, ...]
    sessions: tuple[Session, ...]
    faults: tuple[Fault, ...]
    windows: tuple[Window, ...]
    cut: int  # spans beyond MOST_SPANS

    def window(self, about: str, name: str) -> Window | None:
        return next((window for window in self.windows if (window.about, window.name) == (about, name)), None)


def read_timeline(run: Path) -> Timeline | str:
    """The timeline of the run in this directory, or one sentence why there is none."""
    path = run / "timeline.json"
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            return "timeline.json is larger than 32 MiB: not drawn"
        value = json.loads(path.read_text(encoding="utf-8"))
        if value["schema"] > SCHEMA_VERSION:
            return "timeline.json is of a newer version"
        return _timeline(value)
    except FileNotFoundError:
        return "there is no timeline.json: the run was killed before it was judged, or is older than this report"
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return "timeline.json is damaged"


def _timeline(value: Mapping[str, Any]) -> Timeline:
    last = _int(value["ended_us"] if value["ended_us"] is not None else value["last_us"])
    rest = [MOST_SPANS]

    def rows(name: str, make: Callable[[Any, int], Any]) -> tuple[Any, ...]:
        found = value.get(name, ())[: max(0, rest[0])]  # an older run has no `owners`
        rest[0] -= len(value.get(name, ()))
        return tuple(make(row, last) for row in found)

    controllers, leaders = rows("controllers", _controller), rows("leaders", _leader)
    owners = rows("owners", _owner)
    sessions, faults = rows("sessions", _session), rows("faults", _fault)
    started = value["started_us"]
    begins: list[int] = [span.from_us for span in (*controllers, *owners, *leaders, *sessions)]
    if started is not None:
        begins.append(_int(started))
    return Timeline(
        from_us=min([last, *begins]),
        to_us=last,
        ended=value["ended_us"] is not None,
        controllers=controllers,
        owners=owners,
        leaders=leaders,
        sessions=sessions,
        faults=tuple(fault for fault in faults if fault is not None),
        windows=tuple(_window(row) for row in value["windows"]),
        cut=max(0, -rest[0]),
    )


def _span(row: Mapping[str, Any], last: int) -> tuple[int, int]:
    begin = _int(row["from_us"])
    end = last if row["to_us"] is None else _int(row["to_us"])
    return begin, max(begin, end)


def _controller(row: Mapping[str, Any], last: int) -> Controller:
    return Controller(
        *_span(row, last), _text(row["view"]), _maybe(row["node"]), _maybe(row["epoch"]), _text(row["session"])
    )


def _owner(row: Mapping[str, Any], last: int) -> Owner:
    words = _text(row["view"]), _text(row["path"])
    return Owner(*_span(row, last), *words, _maybe(row["node"]), _maybe(row["epoch"]), _text(row["session"]))


def _leader(row: Mapping[str, Any], last: int) -> Leader:
    name = f"{_text(row['topic'])}-{_int(row['partition'])}"
    epochs = _maybe(row["leader_epoch"]), _maybe(row["controller_epoch"])
    return Leader(*_span(row, last), name, _maybe(row["leader"]), *epochs)


def _session(row: Mapping[str, Any], last: int) -> Session:
    words = _text(row["session"]), _text(row["state"]), _text(row["ended"])
    return Session(*_span(row, last), _text(row["view"]), _maybe(row["node"]), *words)


def _fault(row: Mapping[str, Any], last: int) -> Fault | None:
    """None: it was never asked for, so it is nowhere."""
    begin = _maybe(row["asked_us"] if row["applied_us"] is None else row["applied_us"])
    if begin is None:
        return None
    healed = _maybe(row["healed_us"])
    end = healed if healed is not None else begin if row["applied_us"] is None else last
    words = _text(row["id"]), _text(row["kind"]), _text(row["mode"])
    return Fault(begin, max(begin, end), *words, _maybe(row["node"]), _text(row["status"]), _maybe(row["observed_us"]))


def _window(row: Mapping[str, Any]) -> Window:
    events = tuple(
        Moment(_int(event["t_us"]), _text(event["writer"]), _text(event["text"]), event["witness"] is True)
        for event in row["events"]
    )
    return Window(
        from_us=_int(row["from_us"]),
        to_us=_int(row["to_us"]),
        about=_text(row["about"]),
        name=_text(row["name"]),
        at_us=_int(row["at_us"]),
        left_out=_int(row["left_out"]),
        events=events,
        partition=_text(row.get("partition")),
        nodes=tuple(_int(node) for node in row.get("nodes", ())),
    )


def _int(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 10**15:
        raise ValueError(f"no number: {value!r:.40}")
    return value


def _maybe(value: Any) -> int | None:
    return None if value is None else _int(value)


def _text(value: Any) -> str:
    return "" if value is None else str(value)
