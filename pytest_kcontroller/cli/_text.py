"""Aligned text for terminals: what the subcommands print for people."""

from __future__ import annotations

from collections.abc import Sequence


def columns(rows: Sequence[Sequence[str]], *, indent: str = "", gap: str = "  ") -> list[str]:
    """One line per row, each column as wide as its widest cell; nothing after the last cell."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = (gap.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return [(indent + line).rstrip() for line in lines]
