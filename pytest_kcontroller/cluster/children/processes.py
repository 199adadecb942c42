"""Processes that die with their owner (supervisor.py), and what a dead owner left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

import psutil

from pytest_kcontroller.errors import EnvironmentFailure

VARIABLE = "KCONTROLLER_SESSION"
"""In the environment of every process that we start: the owner's session id."""

SESSION = re.compile(r"[0-9]+-[0-9]+")

SUPERVISOR = Path(__file__).with_name("supervisor.py")


def session_id() -> str:
    """`<pid>-<start time>` of this process: unique on the machine, and tells whether the owner still lives."""
    return _session_id(os.getpid())  # a fork of this process is an owner of its own


@cache
def _session_id(pid: int) -> str:
    return f"{pid}-{_start_time(pid)}"


def _start_time(pid: int) -> int | None:
    """When a process began; None: it is gone, or a zombie.

    On Linux in clock ticks since the boot: the time of day that psutil computes from it moves when the clock is set.
    """
    try:
        if sys.platform != "linux":
            return int(psutil.Process(pid).create_time() * 1000)
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()  # from the state (field 3) on
    except (psutil.NoSuchProcess, OSError):
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


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

        `cleanup`: directories to remove if the owner dies. Raises EnvironmentFailure if no process can be made; a command
        that cannot be executed ends with status 127 and says so in its log.
        """
        supervisor, write, reader = await start_guard(
            name,
            lambda read, status: [
                *(sys.executable, "-I", "-S", SUPERVISOR, str(read), str(status), *cleanup, "--", *command)
            ],
            log=log,
            cwd=cwd,
            env=env,
        )
        try:
            pid = int(await reader.readline() or b"0")
        except BaseException:
            os.close(write)
            raise
        if not pid:
            os.close(write)
            raise EnvironmentFailure(f"{name} could not be started: its supervisor ended", where=str(log))
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


async def start_guard(
    name: str,
    command: Callable[[int, int], Sequence[str | Path]],
    *,
    log: Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> tuple[asyncio.subprocess.Process, int, asyncio.StreamReader]:
    """A process that looks after something for us. `command` gets the read end of a pipe whose write end only we hold, so
    that it sees our end, and the write end of the pipe that it tells us on.

    Returns it, our end of the first pipe (whoever has it closes it) and a reader of the second.
    """
    read, write = os.pipe()  # neither is inheritable: no sibling keeps the write end open
    status_read, status_write = os.pipe()
    try:
        with log.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                *command(read, status_write),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=cwd,
                env={**os.environ, **(env or {}), VARIABLE: session_id()},
                pass_fds=(read, status_write),
                process_group=0,  # what kills the owner's whole group (Ctrl-C, a CI job's limit) leaves it to its task
            )
    except BaseException as bad:
        os.close(write)
        os.close(status_read)
        if isinstance(bad, OSError):
            raise EnvironmentFailure(f"{name} could not be started: {bad}") from None
        raise
    finally:
        os.close(read)
        os.close(status_write)
    return process, write, await _reader(status_read)


async def _reader(fd: int) -> asyncio.StreamReader:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb"))
    return reader


def temporary_name(prefix: str = "kcontroller-") -> str:
    """A new name for a temporary directory; it says whose it is, so that `kcontroller gc` knows when nobody's."""
    return f"{prefix}{session_id()}-{secrets.token_hex(4)}"


@contextlib.contextmanager
def session_directory(prefix: str = "kcontroller-") -> Iterator[Path]:
    """A new temporary directory that is removed when the block ends, or when this process dies, by SIGKILL too.

    A process that looks after it runs before the directory is made. Raises EnvironmentFailure if it cannot.
    """
    directory = Path(tempfile.gettempdir()) / temporary_name(prefix)
    read, write = os.pipe()
    try:
        guard = subprocess.Popen(
            [sys.executable, "-I", "-S", SUPERVISOR, str(read), "-1", directory, "--"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={**os.environ, VARIABLE: session_id()},
            pass_fds=(read,),
            process_group=0,
        )
    except OSError as bad:
        os.close(write)
        raise EnvironmentFailure(f"no temporary directory could be made: {bad}", where=str(directory)) from None
    finally:
        os.close(read)
    with guard:  # waits for its end
        try:
            try:
                directory.mkdir(mode=0o700)
            except OSError as bad:
                raise EnvironmentFailure(f"no temporary directory could be made: {bad}", where=str(directory)) from None
            yield directory
        finally:
            os.close(write)


@dataclass(frozen=True, slots=True)
class Leftover:
    """A process of a session; `owner_lives` False: nobody looks after it any more."""

    pid: int
    session: str
    command: str
    owner_lives: bool


def leftovers() -> list[Leftover]:
    """Every process on this machine that we may look at and whose KCONTROLLER_SESSION has our form, by session and pid.

    What another program has written there is none of our business.
    """
    found = []
    for process in psutil.process_iter():
        try:
            session = process.environ().get(VARIABLE)
            if session and SESSION.fullmatch(session) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(Leftover(process.pid, session, shlex.join(process.cmdline()), owner_lives(session)))
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return sorted(found, key=lambda leftover: (leftover.session, leftover.pid))


@cache
def host() -> str:
    """This machine since its boot, and the namespace that process ids belong to: where a session id means something."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115 - no path: what the link says
    except OSError:
        return "unknown"


def owner_lives(session: str) -> bool:
    """Whether the process that a session id of this machine names still runs."""
    pid, _, began = session.partition("-")
    return SESSION.fullmatch(session) is not None and _start_time(int(pid)) == int(began)
