"""Which run directories there are under the given ones. A run is a directory with a `run.json` (docs/formats.md)."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pytest_kcontroller.errors import UsageError


@dataclass(frozen=True, slots=True)
class Place:
    """A run directory: `path` is absolute and free of links, `shown` is how the person would write it.

    `trouble`: which of its files cannot be read, so that its verdict cannot be looked into.
    """

    path: str
    shown: str
    trouble: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Run directories in order of their paths, and one sentence for each thing that could not be used."""

    places: tuple[Place, ...]
    remarks: tuple[str, ...]


def find_runs(directories: Iterable[Path]) -> Found:
    """Looks through `directories` and everything below them; never raises for what it finds there.

    Raises UsageError: one of them is no directory.
    """
    places: dict[str, Place] = {}
    remarks: list[str] = []
    tops = list(directories)
    for top in tops:
        if not top.is_dir():
            what = "this is not a directory" if top.exists() else "there is no such directory"
            raise UsageError(what, where=str(top), hint="name directories that hold runs, at any depth")
    for top in tops:
        here = _run_directories(top, remarks)
        if not here:
            remarks.append(f"{top}: holds no run (no run.json in it or below it)")
        for folder in here:
            path = str(folder.resolve())
            if path in places:
                remarks.append(f"{folder}: given twice; counted once")
                continue
            odd, trouble = _odd_history(folder / "history")
            remarks.extend(odd)
            places[path] = Place(path=path, shown=str(folder), trouble=trouble)
    return Found(places=tuple(places[path] for path in sorted(places)), remarks=tuple(remarks))


def _run_directories(top: Path, remarks: list[str]) -> list[Path]:
    found: list[Path] = []

    def unreadable(error: OSError) -> None:
        remarks.append(f"{error.filename}: cannot be read ({error.strerror}); it was left out")

    for folder, below, files in os.walk(top, onerror=unreadable):
        below.sort()
        if "run.json" in files:
            found.append(Path(folder))
            below.clear()  # a run holds no runs
        elif "verdicts.json" in files or "schedule.jsonl" in files:
            below.clear()
            remarks.append(f"{folder}: looks like a run but has no run.json; it was left out")
    return found


def _odd_history(history: Path) -> tuple[list[str], str | None]:
    """A sentence for each thing in a history that is no event, and what cannot be read at all.

    A report is made of what was judged; but who looks there for what happened must know that it is not all there.
    """
    files = sorted(history.glob("*.jsonl"))
    found, trouble = [], None
    if not files:
        found.append(f"{history}: there is no history in it; what its run was judged by is gone")
    for path in files:
        try:
            data = path.read_bytes()
        except OSError as failed:
            trouble = f"{history.name}/{path.name} cannot be read ({failed.strerror})"
            continue
        lines = data.split(b"\n")
        last = lines.pop()
        if last:
            found.append(
                f"{path}:{len(lines) + 1}: the last line is cut in half, by a writer that was killed; it counts as not there"
            )
        odd = [number for number, line in enumerate(lines, start=1) if not _USUAL.match(line) and not _is_event(line)]
        more = f", nor {'is one more line' if len(odd) == 2 else f'are {len(odd) - 1} more'}" if len(odd) > 1 else ""
        found += [f"{path}:{odd[0]}: is no history event{more}"] if odd else []
    return found, trouble


#: How our own writers begin a line: most lines need no second look.
_USUAL = re.compile(rb'\{"writer":"[^"\\]*","seq":\d+,"t_us":-?\d+,"kind":"[^"\\]*"[,}]')


def _is_event(line: bytes) -> bool:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    numbers = isinstance(value, dict) and all(type(value.get(name)) is int for name in ("seq", "t_us"))
    return numbers and {"writer", "kind"} <= value.keys()
