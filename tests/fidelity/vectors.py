"""Vectors: facts about Kafka's controller as inputs and what is expected of them, in files like tests/data/vectors.json.

    {"_meta": {...}, "<operation>": [{"id": ..., "source": ..., "inputs": ..., "expected": ...}, ...], ...}

What a key of inputs or expected means is up to its operation (tests/fidelity/operations).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "data"
SHARED = (DATA / "vectors.json", DATA / "generated.json")

REMARKS = frozenset({"note", "why", "tested", "checked", "rule"})
"""Keys that tell a reader something, and expect nothing."""

_DATA_KEY = re.compile(r"-?\d+|.+-\d+")
"""A broker, a partition number or a partition: what a key of this form is called is part of the data."""


@dataclass(frozen=True, slots=True)
class Vector:
    operation: str
    id: str
    source: str
    inputs: Any
    expected: Any

    @property
    def key(self) -> str:
        """The same for two vectors that ask the same."""
        return f"{self.operation} {json.dumps(self.inputs, sort_keys=True)}"


class VectorFileError(Exception):
    """A file is not what it should be: a sentence."""


def load(path: Path) -> list[Vector]:
    """In the order of the file. Raises VectorFileError."""
    try:
        groups = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as bad:
        raise VectorFileError(f"{path}: no file of vectors can be read there: {bad}") from None
    if not isinstance(groups, dict):
        raise VectorFileError(f"{path}: an object is expected, operation -> its vectors")
    return [
        _vector(path, operation, number, entry)
        for operation, entries in groups.items()
        if operation != "_meta"
        for number, entry in enumerate(entries)
    ]


def _vector(path: Path, operation: str, number: int, entry: Any) -> Vector:
    try:
        return Vector(operation, str(entry["id"]), str(entry.get("source", "")), entry["inputs"], entry["expected"])
    except (KeyError, TypeError, AttributeError):
        raise VectorFileError(
            f"{path}: {operation}[{number}] has no id, inputs and expected, which every vector has"
        ) from None


def shared() -> list[Vector]:
    return [vector for path in SHARED for vector in load(path)]


def keys(value: Any) -> Iterator[str]:
    """The keys at every depth that are not part of the data."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not _DATA_KEY.fullmatch(key):
                yield key
            yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def known_keys(vectors: Iterable[Vector]) -> dict[str, frozenset[str]]:
    """Operation -> the keys that its vectors have."""
    known: dict[str, set[str]] = {}
    for vector in vectors:
        known.setdefault(vector.operation, set()).update(keys(vector.inputs), keys(vector.expected))
    return {operation: frozenset(names) for operation, names in known.items()}


def unknown_keys(vector: Vector, known: Mapping[str, frozenset[str]]) -> list[str]:
    """Those of a vector of a known operation that no shared vector of it has."""
    return sorted({*keys(vector.inputs), *keys(vector.expected)} - known[vector.operation] - REMARKS)


def differences(expected: Any, observed: Any, where: str = "") -> list[str]:
    """What is expected and not observed, in sentences. More than what is expected may have been observed, but where
    the keys are data all of them are expected."""
    if not isinstance(expected, Mapping) or not isinstance(observed, Mapping):
        same = type(expected) is type(observed) and expected == observed
        return [] if same else [f"{where or 'the outcome'}: {_shown(expected)} is expected, and is {_shown(observed)}"]
    found: list[str] = []
    if any(_DATA_KEY.fullmatch(key) for key in expected):
        more = [key for key in observed if _DATA_KEY.fullmatch(key) and key not in expected]
        found += [f"{where or 'the outcome'}: {', '.join(more)} is not expected"] if more else []
    for key, value in expected.items():
        if key in REMARKS:
            continue
        place = f"{where}.{key}" if where else key
        if key in observed:
            found += differences(value, observed[key], place)
        else:
            found.append(f"{place}: {_shown(value)} is expected, and nothing is seen of it")
    return found


def _shown(value: Any) -> str:
    return json.dumps(value, default=repr)
