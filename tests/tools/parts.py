"""A part of the suite: CI has two clones play one half each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest


def files_of(part: str, files: Iterable[Path]) -> set[Path]:
    """1/2: every second file, from the first, so that those of one folder, which take about as long, are in different parts.

    Raises pytest.UsageError: `part` is not of this form.
    """
    found = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", part)
    if found is None or (number := int(found[1])) > (parts := int(found[2])):
        raise pytest.UsageError(f"--part: {part!r} is no part of the tests; 1/2 is the first of two")
    return {*sorted({*files})[number - 1 :: parts]}
