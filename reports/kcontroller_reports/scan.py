"""Which run directories there are under the given ones. A run is a directory with a `run.json` (docs/formats.md)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Place:
    """A run directory: `path` is absolute and free of links, `shown` is how the person would write it."""

    path: str
    shown: str


@dataclass(frozen=True, slots=True)
class Found:
    """Run directories in order of their paths, and one sentence for each thing that could not be used."""

    places: tuple[Place, ...]
    remarks: tuple[str, ...]


def find_runs(directories: Iterable[Path]) -> Found:
    """Looks through `directories` and everything below them; never raises for what it finds there."""
    places: dict[str, Place] = {}
    remarks: list[str] = []
    for top in directories:
        if not top.exists():
            remarks.append(f"{top}: there is no such directory; it was left out")
            continue
        if not top.is_dir():
            remarks.append(f"{top}: not a directory; it was left out")
            continue
        here = [_place(folder, remarks) for folder in _run_directories(top, remarks)]
        if not here:
            remarks.append(f"{top}: holds no run (no run.json in it or below it)")
        for place in here:
            if place is None:
                continue
            if place.path in places:
                remarks.append(f"{place.shown}: given twice; counted once")
            else:
                places[place.path] = place
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


def _place(folder: Path, remarks: list[str]) -> Place | None:
    try:
        with (folder / "run.json").open("rb"):
            remarks.extend(_cut_lines(folder))
            return Place(path=str(folder.resolve()), shown=str(folder))
    except OSError as error:
        remarks.append(f"{folder / 'run.json'}: cannot be read ({error.strerror}); its run was left out")
        return None


def _cut_lines(folder: Path) -> list[str]:
    """One sentence for each history whose last line a killed writer left half."""
    found = []
    for path in sorted((folder / "history").glob("*.jsonl")):
        data = path.read_bytes()
        if data and not data.endswith(b"\n"):
            number = data.count(b"\n") + 1
            found.append(
                f"{path}:{number}: the last line is cut in half, by a writer that was killed; it counts as not there"
            )
    return found
