"""Recorded scenarios: what Kafka's controller did step by step, in files like those of tests/data/twin.

    {"seed", "stubs", "system", "steps": [[operation, argument, ...], ...], "log": [an entry per step]}

An entry has what was there when ZooKeeper and the stub brokers had been quiet after the step:

- `ans`: the answer of a step that is a request, or the name of the error that ZooKeeper gave to the step itself;
- `znodes`: path -> every value that was written to a partition's state or to a topic in this step;
- `got`: stub -> what it was asked for of a partition, in order: LeaderAndIsr and StopReplica;
- `cache`: stub -> partition -> what the UpdateMetadata requests have said of it last;
- `nodes`: path -> its children;
- `restless`: in the last entry of a scenario in which the system never came to rest.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[2] / "data" / "twin"

Step = tuple[Any, ...]
Entry = dict[str, Any]
"""See above; the numbers of stubs are text, as in JSON."""


@dataclass(frozen=True, slots=True)
class Record:
    name: str
    stubs: int
    steps: tuple[Step, ...]
    log: tuple[Entry, ...]


class RecordError(Exception):
    """A file is no record: a sentence."""


def read_record(path: Path) -> Record:
    """Raises RecordError."""
    try:
        value = json.loads(gzip.decompress(path.read_bytes()))
        steps = tuple(tuple(step) for step in value["steps"])
        return Record(path.name.partition(".")[0], int(value["stubs"]), steps, tuple(value["log"]))
    except (OSError, EOFError, ValueError, KeyError, TypeError) as bad:
        raise RecordError(f"{path}: no recorded scenario can be read there: {bad!r}") from None


def read_records(directory: Path) -> list[Record]:
    """Of a directory, by name. Raises RecordError."""
    if not (paths := sorted(directory.glob("*.json.gz"))):
        raise RecordError(f"{directory}: there is no recorded scenario, a file that ends in .json.gz")
    return [read_record(path) for path in paths]


@cache
def shared_records() -> tuple[Record, ...]:
    """Of tests/data/twin."""
    return tuple(read_records(DATA))


@dataclass(frozen=True, slots=True)
class Difference:
    step: int
    what: str
    """`answer`, a znode's path, `stub 101 t0-1`, `metadata of 101 t0-1`, the path whose children differ, `rest`."""
    theirs: Any
    ours: Any

    def __str__(self) -> str:
        return f"step {self.step}, {self.what}:\n  recorded: {json.dumps(self.theirs)}\n  ours:     {json.dumps(self.ours)}"


Explains = Callable[[Difference], bool]


def differences(record: Record, ours: list[Entry]) -> list[Difference]:
    """All of them; none: ours is equal. The step in which the recorded system never came to rest says nothing of what is
    right, but that ours comes to rest."""
    found: list[Difference] = []
    for number, (there, here) in enumerate(zip(record.log, ours, strict=False)):
        if here.get("restless"):
            return [*found, Difference(number, "rest", not there.get("restless"), False)]
        if there.get("restless"):
            return found
        found += _differences(number, there, here)
    if len(ours) < len(record.log):
        found.append(Difference(len(ours), "steps", len(record.log), len(ours)))
    return found


def compare(record: Record, ours: list[Entry], explained: Explains = lambda difference: False) -> list[Difference]:
    """Of the first step with differences that are not explained, all of these."""
    unexplained = [difference for difference in differences(record, ours) if not explained(difference)]
    return [difference for difference in unexplained if difference.step == unexplained[0].step]


def _differences(number: int, there: Entry, here: Entry) -> Iterator[Difference]:
    if there["ans"] != here["ans"]:
        yield Difference(number, "answer", there["ans"], here["ans"])
    yield from _of_keys(number, "children of {}", there["nodes"], here["nodes"])
    yield from _of_keys(number, "{}", there["znodes"], here["znodes"])
    for stub in sorted({*there["got"], *here["got"]}):
        got = [_by_partition(entry["got"].get(stub, [])) for entry in (there, here)]
        yield from _of_keys(number, f"stub {stub} {{}}", *got)
        cache = [_without_controller_epoch(entry["cache"].get(stub, {})) for entry in (there, here)]
        yield from _of_keys(number, f"metadata of {stub} {{}}", *cache)


def _of_keys(number: int, what: str, there: dict[str, Any], here: dict[str, Any]) -> Iterator[Difference]:
    for key in sorted({*there, *here}):
        if there.get(key) != here.get(key):
            yield Difference(number, what.format(key), there.get(key), here.get(key))


def _by_partition(got: list[list[Any]]) -> dict[str, list[Any]]:
    """Only the order for one partition on one stub means something."""
    found: dict[str, list[Any]] = {}
    for kind, topic, partition, state in got:
        found.setdefault(f"{topic}-{partition}", []).append([kind, state])
    return found


def _without_controller_epoch(cache: dict[str, Any]) -> dict[str, Any]:
    return {partition: {**state, "ce": 0} for partition, state in cache.items()}
