"""Colour on a terminal, and nowhere else: NO_COLOR (no-color.org), a pipe and a dumb terminal get plain text."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TextIO

_SGR: Mapping[str, str] = {"held": "32", "violated": "1;31", "environment": "33", "unknown": "33"}
"""Verdict -> the parameters of ECMA-48's SGR."""


def has_colour(stream: TextIO) -> bool:
    """Whether colours are shown on it."""
    return stream.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")


def paint(text: str, verdict: str, stream: TextIO) -> str:
    """`text` in the colour of a verdict."""
    return f"\x1b[{_SGR[verdict]}m{text}\x1b[0m" if verdict in _SGR and has_colour(stream) else text
