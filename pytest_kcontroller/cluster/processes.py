"""Processes that die with their owner (supervisor.py), and what a dead owner left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

import psutil

from pytest_kcontroller.errors import EnvironmentError_

VARIABLE = "KCONTROLLER_SESSION"
"""In the environment of every process that we start: the owner's session id."""

SUPERVISOR = Path(__file__).with_name("supervisor.py")


@cache
def session_id() -> str:
    """`<pid>-<start time in ticks>` of this process: unique on the machine, and tells whether the owner still lives."""
    own = psutil.Process()
    return f"{own.pid}-{int(own.create_time() * 1000)}"


class Supervised:
    """One child process. `pid` is the child's own, so that a signal hits it and not its supervisor."""

    def __init__(self, name: str, supervisor: asyncio.subprocess.Process, owner_pipe: int, pid: int) -> None:
        self.name, self.pid = name, pid
        self._supervisor = supervisor
        self._owner_pipe: int | None = owner_pipe
        self._ended: asyncio.Task[int] | None = None

    @classmethod
    async def start(
        cls,
        name: str,
        command: Sequence[str | Path],
        *,
        log: Path,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        cleanup: Sequence[Path] = (),
    ) -> Self:
        """Starts `command` with stdout and stderr appended to `log`; `env` is added to the environment.

        `cleanup`: directories to remove if the owner dies. Raises EnvironmentError_ if no process can be made; a command
        that cannot be executed ends with status 127 and says so in its log.
        """
        read, write = os.pipe()  # neither is inheritable: no sibling keeps the write end open
        status_read, status_write = os.pipe()
        try:
            with log.open("ab") as output:
                supervisor = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-I", "-S", SUPERVISOR, str(read), str(status_write), *cleanup, "--", *command),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    cwd=cwd,
                    env={**os.environ, **(env or {}), VARIABLE: session_id()},
                    pass_fds=(read, status_write),
                )
        except BaseException as bad:
            os.close(write)
            os.close(status_read)
            if isinstance(bad, OSError):
                raise EnvironmentError_(f"{name} could not be started: {bad}") from None
            raise
        finally:
            os.close(read)
            os.close(status_write)
        reader = await _reader(status_read)
        try:
            pid = int(await reader.readline() or b"0")
        except BaseException:
            os.close(write)
            raise
        if not pid:
            os.close(write)
            raise EnvironmentError_(f"{name} could not be started: its supervisor ended", where=str(log))
        child = cls(name, supervisor, write, pid)
        child._ended = asyncio.create_task(child._end(reader), name=f"end of {name}")
        return child

    @property
    def returncode(self) -> int | None:
        """None while it runs; negative: the signal that ended it."""
        return self._ended.result() if self._ended is not None and self._ended.done() else None

    async def wait(self) -> int:
        """Its status, once it has ended."""
        assert self._ended is not None
        return await asyncio.shield(self._ended)

    def signal(self, number: int) -> None:
        """Does nothing once it has ended."""
        if self.returncode is None:
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return

    async def stop(self, grace_s: float) -> int:
        """SIGTERM, and SIGKILL to its whole group if it has not ended within `grace_s`."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(grace_s):
                return await self.wait()
        except TimeoutError:
            return await self.kill()

    async def kill(self) -> int:
        """SIGKILL to its whole group."""
        if self._owner_pipe is not None and self.returncode is None:
            with contextlib.suppress(BrokenPipeError):  # its supervisor has just ended: so has it
                os.write(self._owner_pipe, b"k")
        return await self.wait()

    async def _end(self, reader: asyncio.StreamReader) -> int:
        line = await reader.readline()
        await self._supervisor.wait()
        if self._owner_pipe is not None:
            os.close(self._owner_pipe)
            self._owner_pipe = None
        return int(line) if line else -signal.SIGKILL


async def _reader(fd: int) -> asyncio.StreamReader:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb"))
    return reader


@dataclass(frozen=True, slots=True)
class Leftover:
    """A process of a session; `owner_lives` False: nobody looks after it any more."""

    pid: int
    session: str
    command: str
    owner_lives: bool


def leftovers() -> list[Leftover]:
    """Every process on this machine that carries KCONTROLLER_SESSION and that we may look at, sorted by session and pid."""
    found = []
    for process in psutil.process_iter():
        try:
            session = process.environ().get(VARIABLE)
            if session and process.status() != psutil.STATUS_ZOMBIE:
                found.append(Leftover(process.pid, session, shlex.join(process.cmdline()), _owner_lives(session)))
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return sorted(found, key=lambda leftover: (leftover.session, leftover.pid))


def _owner_lives(session: str) -> bool:
    pid, _, created = session.partition("-")
    try:
        return int(psutil.Process(int(pid)).create_time() * 1000) == int(created)
    except (psutil.NoSuchProcess, ValueError):
        return False
