"""Aligned text for terminals: what the subcommands print for people."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

WIDTH = 100


def columns(rows: Sequence[Sequence[str]], *, indent: str = "", gap: str = "  ") -> list[str]:
    """One line per row, each column as wide as its widest cell; nothing after the last cell."""
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(len(rows[0]) if rows else 0)]
    lines = (gap.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return [(indent + line).rstrip() for line in lines]


def labelled(rows: Sequence[tuple[str, str]], *, indent: str = "") -> list[str]:
    """Labels in a column; a long text goes on below itself. Names and paths are never broken."""
    width = max((len(label) for label, _ in rows), default=0)
    lines = []
    for label, text in rows:
        first = f"{indent}{label:<{width}}  "
        wrapped = textwrap.wrap(text, WIDTH - len(first), break_long_words=False, break_on_hyphens=False)
        lines += [first + (wrapped[0] if wrapped else ""), *(" " * len(first) + line for line in wrapped[1:])]
    return [line.rstrip() for line in lines]
