"""A directory that fails: a file stands where it was, as in Kafka's own tests (TestUtils.causeLogDirFailure).

Whoever looks for something below it gets an error of the kernel's; what was in it waits beside it.
"""

from __future__ import annotations

import shutil
from pathlib import Path

ASIDE = ".aside"


def _aside(path: Path) -> Path:
    return path.with_name(f"{path.name}{ASIDE}")


def has_failed(path: Path) -> bool:
    return _aside(path).exists()


def kept(path: Path) -> Path:
    """Where what is in it is now."""
    return _aside(path) if has_failed(path) else path


def read(file: Path) -> bytes:
    """Empty if it is not there."""
    try:
        return file.read_bytes()
    except OSError:
        return b""


def fail(path: Path) -> None:
    path.mkdir(parents=True, exist_ok=True)
    path.rename(_aside(path))
    while not path.is_file():
        _clear(path)  # somebody was writing, and has made it anew
        path.touch()


def mend(path: Path) -> None:
    """What was in it is there again; does nothing to one that has not failed."""
    if has_failed(path):
        _clear(path)
        _aside(path).rename(path)


def _clear(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
