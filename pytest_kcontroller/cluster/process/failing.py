"""A directory that fails: a file stands where it was, as in Kafka's own tests (TestUtils.causeLogDirFailure).

Whoever looks for something below it gets an error of the kernel's; what was in it waits beside it.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from pytest_kcontroller.errors import EnvironmentFailure

ASIDE = ".aside"
TRIES = 100


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
    """What was in it is there again; does nothing to one that has not failed. Raises EnvironmentFailure."""
    for left in reversed(range(TRIES)):
        if not has_failed(path):
            return
        _clear(path)
        try:
            _aside(path).rename(path)
        except OSError as refused:  # somebody was writing, and has made it anew
            if not left:
                raise EnvironmentFailure(f"cannot be mended: {refused.strerror}", where=str(path)) from None


def _clear(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
