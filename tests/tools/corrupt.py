"""Makes a file of vectors wrong: one value of each vector's `expected` becomes another one.

    python -m tests.tools.corrupt vectors.json > bad.json

A test of tests: whoever runs bad.json must see every vector fail. Remarks (`note`) are left alone. The same file gives the
same output.
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.fidelity.vectors import REMARKS

Place = tuple[str | int, ...]
"""The way to a value, from the outermost key on."""


def places(expected: Any, at: Place = ()) -> Iterator[Place]:
    """Of every value that a vector expects; of lists and empty objects as a whole."""
    if isinstance(expected, dict) and expected:
        for key, value in expected.items():
            if key not in REMARKS:
                yield from places(value, (*at, key))
    else:
        yield at


def changed(expected: Any, place: Place) -> Any:
    """A copy in which the value at `place` is another one."""
    if not place:
        return _other(expected)
    key, *rest = place
    return {**expected, key: changed(expected[key], tuple(rest))}


def _other(value: Any) -> Any:
    """One of the same type where there is one, and never the same."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return f"not {value}"
        case list():
            return [*value, _other(value[-1])] if value else ["not empty"]
        case dict():
            return {"not": "empty"}
        case _:
            return "something"


def corrupt(groups: dict[str, Any]) -> dict[str, Any]:
    """Of each vector the value that its id draws."""
    return {
        operation: entries if operation == "_meta" else [_corrupt_vector(entry) for entry in entries]
        for operation, entries in groups.items()
    }


def _corrupt_vector(entry: dict[str, Any]) -> dict[str, Any]:
    found = list(places(entry["expected"]))
    chosen = found[zlib.crc32(entry["id"].encode()) % len(found)]
    return {**entry, "expected": changed(entry["expected"], chosen)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("file", type=Path, help="vectors, as tests/data/vectors.json")
    print(json.dumps(corrupt(json.loads(parser.parse_args().file.read_text(encoding="utf-8"))), indent=1))


if __name__ == "__main__":
    main()
