"""Temporary directories that go with their owner, whatever ended it: one process per owner, the guard, knows all of them."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from pytest_kcontroller.cluster.children.processes import SESSION, SUPERVISOR, VARIABLE, session_id
from pytest_kcontroller.cluster.children.supervisor import remove
from pytest_kcontroller.errors import EnvironmentFailure

_TEMPORARY = re.compile(rf"kcontroller-({SESSION.pattern})-[0-9a-f]{{8}}")

_lock = threading.Lock()
_guards: list[_Guard] = []
"""The one in use, if there is one."""


def temporary_name() -> str:
    """A new name for a temporary directory; it says whose it is, so that `kcontroller gc` knows when nobody's."""
    return f"kcontroller-{session_id()}-{secrets.token_hex(4)}"


def owner_of_temporary(name: str) -> str | None:
    """The session id in such a name; None: it is no such name."""
    return None if (found := _TEMPORARY.fullmatch(name)) is None else found[1]


def new_directory(place: Path) -> Path:
    """Below `place`; it is removed when this process ends, by SIGKILL too, if it is there then: the guard hears of it before
    it is made. Raises EnvironmentFailure if it cannot be."""
    directory = place.absolute() / temporary_name()
    try:
        _look_after(directory)
        directory.mkdir(mode=0o700)
    except OSError as bad:
        raise EnvironmentFailure(f"no temporary directory could be made: {bad}", where=str(directory)) from None
    return directory


@contextlib.contextmanager
def session_directory() -> Iterator[Path]:
    """A new temporary directory that is removed when the block ends. Raises what new_directory raises."""
    directory = new_directory(Path(tempfile.gettempdir()))
    try:
        yield directory
    finally:
        remove([str(directory)])


def _look_after(directory: Path) -> None:
    with _lock:
        if _guards and not _guards[0].tell(directory):
            _guards.clear()
        if not _guards:
            _guards.append(_Guard())
            _guards[0].tell(directory)


class _Guard:
    """Removes what it was told of once all that its owner had open is closed. Raises OSError."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        read, self._told = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", SUPERVISOR, str(read), "-1", "--"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={**os.environ, VARIABLE: session_id()},
                pass_fds=(read,),
                process_group=0,  # what kills the owner's whole group (Ctrl-C, a CI job's limit) leaves it to its task
            )
        except OSError:
            os.close(self._told)
            raise
        finally:
            os.close(read)
        atexit.register(self._end)

    def tell(self, directory: Path) -> bool:
        """False: it has ended, or is that of the process that this one was forked from."""
        if os.getpid() != self._owner:
            self._end()
            return False
        try:
            os.write(self._told, os.fsencode(directory) + b"\0")  # whole or not at all: it is short
        except OSError:  # it was killed; or somebody has closed all that this process had open
            self._end()
            return False
        return True

    def _end(self) -> None:
        atexit.unregister(self._end)
        with contextlib.suppress(OSError):
            os.close(self._told)
        if os.getpid() == self._owner:
            self._process.send_signal(signal.SIGCONT)  # somebody may have stopped it
            self._process.wait()
        else:
            self._process.returncode = 0  # a fork has no children of its owner's
