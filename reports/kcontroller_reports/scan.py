"""Which run directories there are under the given ones. A run is a directory with a `run.json` (docs/formats.md)."""

from __future__ import annotations

import errno
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


def check_directories(directories: Iterable[Path]) -> None:
    """Raises UsageError, before any work, if one of them is no directory or cannot be read."""
    for top in directories:
        try:
            os.scandir(top).close()
        except OSError as failed:
            what = _WORDS.get(failed.errno or 0, f"this directory cannot be read ({failed.strerror})")
            raise UsageError(what, where=str(top), hint="name directories that hold runs, at any depth") from None


_WORDS = {errno.ENOENT: "there is no such directory", errno.ENOTDIR: "this is not a directory"}


def find_runs(directories: Iterable[Path]) -> Found:
    """Looks through `directories` and everything below them; never raises for what it finds there.

    Raises UsageError as `check_directories` does.
    """
    places: dict[str, Place] = {}
    remarks: list[str] = []
    tops = list(directories)
    check_directories(tops)
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
    """Each directory is looked into once. Links to directories are followed last: what has a place of its own here is named
    by that. Not those to what `top` lies in: nobody asked for all that."""
    found: list[Path] = []
    root, seen = Path(os.path.realpath(top)), set[str]()
    starts = [str(top)]

    def unreadable(error: OSError) -> None:
        remarks.append(f"{error.filename}: cannot be read ({error.strerror}); it was left out")

    for start in starts:  # which grows meanwhile
        if seen and root.is_relative_to(os.path.realpath(start)):
            continue
        for folder, below, files in os.walk(start, onerror=unreadable):
            real = os.path.realpath(folder)
            if real in seen:
                below.clear()
                continue
            seen.add(real)
            below.sort()
            if "run.json" in files:
                found.append(Path(folder))
                below.clear()  # a run holds no runs
            elif "verdicts.json" in files or "schedule.jsonl" in files:
                below.clear()
                remarks.append(f"{folder}: looks like a run but has no run.json; it was left out")
            paths = (os.path.join(folder, name) for name in below)  # noqa: PTH118
            starts += [path for path in paths if os.path.islink(path)]  # noqa: PTH114 - of Path it raises for what is closed
    return found


def _odd_history(history: Path) -> tuple[list[str], str | None]:
    """A sentence for each thing in a history that is no event, and what cannot be read at all.

    A report is made of what was judged; but who looks there for what happened must know that it is not all there.
    """
    found, trouble = [], None
    try:
        files = sorted(path for path in history.iterdir() if path.suffix == ".jsonl")
    except FileNotFoundError:
        files = []
    except OSError as failed:
        return [], f"{history.name} cannot be read ({failed.strerror})"
    if not files:
        found.append(f"{history}: there is no history in it; what its run was judged by is gone")
    for path in files:
        try:
            found += _odd_lines(path)
        except OSError as failed:
            trouble = f"{history.name}/{path.name} cannot be read ({failed.strerror})"
    return found, trouble


def _odd_lines(path: Path) -> list[str]:
    found, odd = [], []
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.endswith(b"\n"):
                why = "its writer was killed, or is still writing"
                found.append(f"{path}:{number}: the last line is cut in half ({why}); it counts as not there")
            elif not _USUAL.match(line) and not _is_event(line):
                odd.append(number)
    more = f", nor {'is one more line' if len(odd) == 2 else f'are {len(odd) - 1} more'}" if len(odd) > 1 else ""
    return [*found, *([f"{path}:{odd[0]}: is no history event{more}"] if odd else [])]


#: How our own writers begin a line: most lines need no second look.
_USUAL = re.compile(rb'\{"writer":"[^"\\]*","seq":\d+,"t_us":-?\d+,"kind":"[^"\\]*"[,}]')


def _is_event(line: bytes) -> bool:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    numbers = isinstance(value, dict) and all(type(value.get(name)) is int for name in ("seq", "t_us"))
    return numbers and {"writer", "kind"} <= value.keys()
