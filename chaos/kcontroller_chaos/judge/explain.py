"""A failure in words, for terminals: what should hold and what was seen, what happened around it, the logs of that time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kcontroller_chaos.checking import NEVER_EXERCISED
from kcontroller_chaos.history.clocks import WallTimes
from kcontroller_chaos.judge.recovery import went_wrong
from pytest_kcontroller.model.text import in_words, printable, printable_lines

FACTS = ("known", "expected", "seen", "where", "witness")
LOG_LINES = 20
"""At most so many lines of each log are shown."""
WIDTH = 180

_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)[,.](\d{3})")
_READY = '{"ready": true'


def facts(entry: Mapping[str, Any]) -> str:
    """An invariant of verdicts.json: its verdict, and a line each for why it is known, expected, seen, where and witness."""
    lines = [f"  {key}: {printable(in_words(entry[key]))}" for key in FACTS if entry.get(key)]
    return "\n".join([f"{entry['verdict']}: {entry['name']}", *lines])


def reason(verdicts: Mapping[str, Any]) -> str:
    """Why this run did not hold, in one line; empty: it held."""
    wanted = verdicts.get("unexpected", verdicts["overall"])
    if wanted == "held":
        return ""
    if wanted == "violated":
        bad = [entry for entry in verdicts["invariants"] if entry["verdict"] == "violated"]
        bad.sort(key=lambda entry: bool(entry.get("known")))  # what is known is not the news
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        seen = f", seen: {printable(in_words(bad[0]['seen']))}" if bad[0].get("seen") else ""
        return f"{bad[0]['name']} is violated{seen}{more}"
    details = [part["detail"] for part in verdicts["parts"].values() if part["verdict"] == wanted and part["detail"]]
    return f"{wanted}: {printable(details[0])}" if details else str(wanted)


def events(window: Mapping[str, Any]) -> str:
    """A window of timeline.json: run times in seconds; `>` is the event that proves it."""
    lines = [
        f"{'>' if event['witness'] else ' '} {event['t_us'] / 1e6:9.3f} s  {event['writer']:<10} {_short(event['text'])}"
        for event in window["events"]
    ]
    if window["left_out"]:
        count = window["left_out"]
        lines.append(f"  and {count} more {'event' if count == 1 else 'events'} of that time, which say less")
    return "\n".join(lines) or "  nothing was recorded then"


def failures(verdicts: Mapping[str, Any], windows: Iterable[Mapping[str, Any]]) -> str:
    """Every invariant that did not hold, those first that are not known, and every fault that went wrong, each with what
    happened around it."""
    around = {(window["about"], window["name"]): window for window in windows}
    blocks = []
    for entry in sorted(verdicts.get("invariants", ()), key=lambda entry: bool(entry.get("known"))):
        if entry["verdict"] not in ("held", NEVER_EXERCISED):
            blocks.append(facts(entry) + _around(around.get(("invariant", entry["name"]))))
    for fault in verdicts.get("faults", ()):
        if went_wrong(fault):
            name = f"{fault['id']} ({fault['kind']}{':' + fault['mode'] if fault['mode'] else ''})"
            blocks.append(f"fault {name}: {printable(str(fault['why']))}" + _around(around.get(("fault", fault["id"]))))
    return "\n\n".join(blocks)


def _around(window: Mapping[str, Any] | None) -> str:
    return f"\n  what happened around it:\n{events(window)}" if window is not None else ""


def logs(directory: Path, times: WallTimes, from_us: int, to_us: int) -> list[tuple[str, str]]:
    """Title and lines of each log of a time: (run times) from, to. A log without times gives its last lines."""
    sections = []
    for path in sorted(directory.glob("*.log")):
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError as bad:
            sections.append((path.name, f"cannot be read: {bad}"))
            continue
        kept = [line for line in lines if line.strip() and not line.startswith(_READY)]
        shown = list(_between(kept, times, from_us, to_us)) if any(map(_TIME.match, kept)) else kept
        if shown:
            count = f"the last {LOG_LINES} of {len(shown)}" if len(shown) > LOG_LINES else f"{len(shown)}"
            text = printable_lines("\n".join(shown[-LOG_LINES:]))  # a node's log has what a plugin raised
            sections.append((f"{path.name}: {count} lines of that time", text))
    return sections


def _between(lines: Sequence[str], times: WallTimes, from_us: int, to_us: int) -> Iterator[str]:
    """A line without a time (a stack trace) belongs to the line before it."""
    inside = False
    for line in lines:
        if found := _TIME.match(line):
            at = datetime.fromisoformat(f"{found[1]}T{found[2]}.{found[3]}").replace(tzinfo=UTC)
            may_be = times.of_log(round(at.timestamp() * 1000))
            inside = any(from_us - 1000 <= t_us <= to_us + 1000 for t_us in may_be)
        if inside:
            yield line


def _short(text: str) -> str:
    line = printable(text)
    return line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"
