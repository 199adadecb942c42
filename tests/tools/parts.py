"""A part of the suite: CI has two clones play one half each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import cycle
from pathlib import Path

import pytest


def files_of(part: str, files: Iterable[Path]) -> set[Path]:
    """Files dealt out like cards, by their names: those of one folder, and those about one thing, which take about as long,
    come into different parts.

    Raises pytest.UsageError: `part` is not of this form.
    """
    found = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", part)
    if found is None or (number := int(found[1])) > (parts := int(found[2])):
        raise pytest.UsageError(f"--part: {part!r} is no part of the tests; 1/2 is the first of two")
    named = sorted({*files}, key=lambda file: (file.name, file))
    turns = cycle(range(1, parts + 1))
    return {file for file, turn in zip(named, turns, strict=False) if turn == number}
