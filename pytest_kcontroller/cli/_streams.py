"""stdout and stderr that are closed, or that nobody reads any more: what is written there is dropped, nothing else fails."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TextIO


def open_closed() -> None:
    """After `>&-` Python has no stdout, and after `2>&-` no stderr: there is one then."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - open as long as the process


def leave(stream: TextIO) -> None:
    """Who read it has left, or it is full: not even what is in its buffer may fail at the end of the process."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
