"""`--json`: stdout has the JSON and nothing else, whatever plugins print when they are imported or asked."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from typing import Any, TextIO

_stdout: ContextVar[TextIO | None] = ContextVar("_stdout", default=None)


@contextmanager
def only_json() -> Iterator[None]:
    """What is printed meanwhile goes to stderr, but for `print_json`."""
    token = _stdout.set(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _stdout.reset(token)


def stdout() -> TextIO:
    """The command's own, also where what is printed goes to stderr."""
    return _stdout.get() or sys.stdout


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2), file=stdout())


def print_json_line(value: Any) -> None:
    """One of many: a line that a reader gets at once."""
    print(json.dumps(value), file=stdout(), flush=True)
