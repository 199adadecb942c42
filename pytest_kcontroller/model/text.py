"""Text of others on its way to people: names, messages and values that this project did not choose.

Plugins, tests and ZooKeeper give texts with control characters, halves of characters (lone surrogates) or objects that
cannot even say what they are. All of it goes through here before it is written down or shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

#: A longer text is cut, and says so: nobody reads it, and one name must not fill a report.
LONGEST = 1_000
MOST_DIGITS = 100
"""A text of more is no number that anybody has counted to: to read it takes long, and Python refuses some."""


def printable(text: str, longest: int = LONGEST) -> str:
    """Control and direction-changing characters are shown, not obeyed; what is too long is cut."""
    cut = text if len(text) <= longest else f"{text[:longest]}… ({len(text) - longest} more characters)"
    if cut.isprintable():
        return cut
    return "".join(char if char.isprintable() else _code(char) for char in cut)


def _code(char: str) -> str:
    number = ord(char)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def printable_lines(text: str) -> str:
    """The same of a text of ours that holds texts of others: its own lines stay lines, tabs (stack traces) are spaces."""
    return "\n".join(printable(line.expandtabs(4), 10 * LONGEST) for line in text.split("\n"))


#: Ids, times and counts, as Python and Spark (Java) both understand it.
NUMBER = r"0x[0-9a-f]+|[0-9]+([.][0-9]+)?"


def without_numbers(text: str) -> str:
    """What equal failures of different seeds have in common."""
    return re.sub(NUMBER, "#", text)


def shown(value: object, how: Callable[[object], str] = repr) -> str:
    """`how(value)`, printable, of an object of others: whatever its own `__repr__` or `__str__` does, there is a text."""
    try:
        return printable(how(value))
    except Exception as failed:  # noqa: BLE001 - somebody else's code, which may raise anything
        return f"<{type(value).__name__} whose {how.__name__} raises {type(failed).__name__}>"


def in_words(value: Any) -> str:
    """A JSON value as one would say it: nothing of Python."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {one_of_many(each)}" for name, each in value.items()) or "nothing"
    if isinstance(value, (list, tuple)):
        return ", ".join(one_of_many(each) for each in value) or "nothing"
    return str(value)


def one_of_many(value: Any) -> str:
    """The same where other values stand beside it: a list in brackets."""
    several = isinstance(value, (list, tuple))
    return f"[{', '.join(map(one_of_many, value))}]" if several else in_words(value)


def whole_number(value: object) -> int | None:
    """A JSON value of others as a whole number, which may be written in decimal digits as a text; None: it is none."""
    if isinstance(value, str):
        digits = value.isascii() and value.isdigit() and len(value) <= MOST_DIGITS
        return int(value) if digits else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def json_or_none(data: Any) -> Any:
    """What a JSON text of others says; None: it is none (bytes that are no text, brackets in brackets without an end)."""
    try:
        return json.loads(data)
    except (TypeError, ValueError, RecursionError):
        return None
