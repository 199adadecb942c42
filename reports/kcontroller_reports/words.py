"""How values are said to people, the same in the terminal, on the page, in Markdown and in XML."""

from __future__ import annotations

import math

from pytest_kcontroller.model.text import printable

#: The status of a drawn fault that had nothing to hit.
SKIPPED = "skipped"


def short(text: str, longest: int) -> str:
    """One printable line of at most `longest` characters, cut in its middle: names differ at their ends."""
    line = printable(text)
    if len(line) <= longest:
        return line
    head = (longest - 1) // 2
    return f"{line[:head]}…{line[len(line) - (longest - 1 - head) :]}"


def seconds(us: float | None) -> str:
    """Microseconds for people: `0.41 s`, `36.0 s`, `41 min`."""
    if us is None:
        return ""
    if math.isinf(us):
        return "no end seen"
    value = us / 1_000_000
    if value < 0.1:
        return f"{us / 1000:.0f} ms"
    if value >= 120:
        return f"{value / 60:.0f} min"
    return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"


def milliseconds(us: float | None) -> str:
    """A delay: `3.1 ms`, `0.41 s`."""
    if us is None:
        return ""
    return f"{us / 1000:.1f} ms" if us < 100_000 else seconds(us)


def moment(us: int | None) -> str:
    """A run time: `3.567 s`."""
    return "" if us is None else f"{us / 1_000_000:.3f} s"


def as_sentence(text: str) -> str:
    """Its first letter is a capital one; names in it stay as they are."""
    return f"{text[:1].upper()}{text[1:]}"


def counted(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
