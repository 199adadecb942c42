"""Processes that die with their owner (supervisor.py), and what a dead owner left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

import psutil

from pytest_kcontroller.cluster.children.forked import expect, forget, fork
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.runtime.timeouts import within

VARIABLE = "KCONTROLLER_SESSION"
"""In the environment of every process that we start: the owner's session id."""

SESSION = re.compile(r"[0-9]+-[0-9]+")

FORK_S = 60.0
"""After so long a fork server is given up, which has yet to import all on a busy machine."""

GIVEN_UP_S = 10.0
"""So long the end of a loop waits for a process whose start was given up."""

EXITING = 0x4
"""Linux's flag of a process that is ending (PF_EXITING)."""

SUPERVISOR = Path(__file__).with_name("supervisor.py")


def session_id() -> str:
    """`<pid>-<start time>` of this process: unique on the machine, and tells whether the owner still lives."""
    return session_of(os.getpid())  # a fork of this process is an owner of its own


@cache
def session_of(pid: int) -> str:
    """See session_id; of a process that runs."""
    return f"{pid}-{_start_time(pid)}"


def _start_time(pid: int) -> int | None:
    """When a process began; None: it is gone, or a zombie.

    On Linux in clock ticks since the boot: the time of day that psutil computes from it moves when the clock is set.
    """
    if sys.platform == "linux":
        fields = _stat(pid)
        return None if fields is None or fields[0] in (b"Z", b"X") else int(fields[19])
    try:
        return int(psutil.Process(pid).create_time() * 1000)
    except psutil.NoSuchProcess:
        return None


def _stat(pid: int) -> list[bytes] | None:
    """What Linux says of a process, from its state (field 3 of proc_pid_stat(5)) on; None: it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None


class Supervised:
    """One child process. `pid` is the child's own, so that a signal hits it and not its supervisor."""

    def __init__(self, name: str, pids: Sequence[int], owner_pipe: int, reap: Callable[[], Awaitable[object]]) -> None:
        """`reap` returns when its supervisor, the second of `pids`, has ended."""
        self.name, (self.pid, self._supervisor), self._reap = name, pids, reap
        self._owner_pipe: int | None = owner_pipe
        self._ended: asyncio.Task[int] | None = None

    @classmethod
    async def start(
        cls,
        name: str,
        command: Sequence[str | Path],
        *,
        log: Path,
        output: Path | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        cleanup: Sequence[Path] = (),
        is_ours: bool = False,
    ) -> Self:
        """Starts `command` with stdout and stderr appended to `log`, or stdout to `output`; `env` is added to ours.

        `cleanup`: directories to remove if the owner dies. `is_ours`: it is `python -m MODULE ...` of this project, of which
        it may be a fork (forked.py). Raises EnvironmentFailure if no process can be made; a command that cannot be executed
        ends with status 127 and says so in its log.
        """
        if is_ours:
            child = await cls._fork(name, command, log, cwd, env, cleanup)
            if child is not None:
                return child
        supervisor, write, reader = await start_guard(
            name,
            lambda read, status: [
                *(sys.executable, "-I", "-S", SUPERVISOR, str(read), str(status), *cleanup, "--", *command)
            ],
            log=log,
            output=output,
            cwd=cwd,
            env=env,
        )
        started = await cls._started(name, write, reader, supervisor.wait)
        if started is None:
            raise EnvironmentFailure(f"{name} could not be started: its supervisor ended", where=str(log))
        return started

    @classmethod
    async def _fork(
        cls,
        name: str,
        command: Sequence[str | Path],
        log: Path,
        cwd: Path | None,
        env: Mapping[str, str] | None,
        cleanup: Sequence[Path],
    ) -> Self | None:
        """None: it could not be forked."""
        with _pipes(name) as (read, write, told, tell), log.open("ab") as output:
            asked = fork(
                command, owner=read, status=tell, log=output.fileno(), cwd=cwd, env=_environment(env), cleanup=cleanup
            )
        reader = await _reader(told, write)
        if not asked:
            os.close(write)
            return None
        try:
            async with within(scaled(FORK_S)):
                started = await cls._started(name, write, reader, reader.read)
        except TimeoutError:
            started = None
        if started is None:
            forget()
        return started

    @classmethod
    async def _started(
        cls, name: str, owner_pipe: int, reader: asyncio.StreamReader, reap: Callable[[], Awaitable[object]]
    ) -> Self | None:
        """None: its supervisor has ended before it had a child."""
        try:
            pids = [*map(int, (await reader.readline()).split())]
        except BaseException:
            _give_up(owner_pipe, reader, reap)
            raise
        if not pids:
            os.close(owner_pipe)
            await reap()
            return None
        child = cls(name, pids, owner_pipe, reap)
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

    def state(self) -> str | None:
        """See state_of."""
        return None if self.returncode is not None else state_of(self.pid)

    async def stop(self, grace_s: float) -> int:
        """SIGTERM, and SIGKILL to its whole group if it has not ended within `grace_s`."""
        self._go_on()
        self.signal(signal.SIGTERM)
        try:
            async with within(grace_s):
                return await self.wait()
        except TimeoutError:
            return await self.kill()

    async def kill(self) -> int:
        """SIGKILL to its whole group."""
        self._go_on()
        if self._owner_pipe is not None and self.returncode is None:
            with contextlib.suppress(BrokenPipeError):  # its supervisor has just ended: so has it
                os.write(self._owner_pipe, b"k")
        return await self.wait()

    def _go_on(self) -> None:
        """Somebody may have stopped it (SIGSTOP), and its supervisor too, whose command line has the child's in it: it could
        not tell us of the end."""
        self.signal(signal.SIGCONT)
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._supervisor, signal.SIGCONT)

    async def _end(self, reader: asyncio.StreamReader) -> int:
        line = await reader.readline()
        await self._reap()
        if self._owner_pipe is not None:
            os.close(self._owner_pipe)
            self._owner_pipe = None
        return int(line) if line else -signal.SIGKILL


_given_up: set[asyncio.Task[None]] = set()


def _give_up(owner_pipe: int, reader: asyncio.StreamReader, reap: Callable[[], Awaitable[object]] | None) -> None:
    """Ends what was to start, if it does. An end of file would say that we are gone: `cleanup` is what others still use.
    `reap`: see Supervised; None: it is no child of ours."""
    with contextlib.suppress(BrokenPipeError):  # it has ended
        os.write(owner_pipe, b"k")

    async def end() -> None:
        await reader.read()
        if reap is not None:
            await reap()

    async def ended() -> None:
        try:
            await end()
        except asyncio.CancelledError:  # the loop ends, and waits for us: a process without it would be nobody's
            with contextlib.suppress(TimeoutError):  # the loop would show its trace to a person
                async with within(scaled(GIVEN_UP_S)):
                    await end()
            raise
        finally:
            os.close(owner_pipe)

    task = asyncio.get_running_loop().create_task(ended(), name="the end of a process that was given up")
    _given_up.add(task)
    task.add_done_callback(_given_up.discard)


def state_of(pid: int) -> str | None:
    """The operating system's letter for a process: T (stopped), else S, whatever it does; None: there is none, or it ends.

    One that ends has left what held it, such as the control group of its container, before it is a zombie.
    """
    if sys.platform == "linux":
        fields = _stat(pid)
        if fields is None or fields[0] in (b"Z", b"X") or int(fields[6]) & EXITING:
            return None
        return "T" if fields[0] == b"T" else "S"
    try:
        status = psutil.Process(pid).status()
    except psutil.NoSuchProcess:
        return None
    return {psutil.STATUS_STOPPED: "T", psutil.STATUS_ZOMBIE: None}.get(status, "S")


async def start_guard(
    name: str,
    command: Callable[[int, int], Sequence[str | Path]],
    *,
    log: Path,
    output: Path | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> tuple[asyncio.subprocess.Process, int, asyncio.StreamReader]:
    """A process that looks after something for us. `command` gets the read end of a pipe whose write end only we hold, so
    that it sees our end, and the write end of the pipe that it tells us on.

    Returns it, our end of the first pipe (whoever has it closes it) and a reader of the second.
    """
    with _pipes(name) as (read, write, told, tell), log.open("ab") as errors, (output or log).open("ab") as out:
        process = await asyncio.create_subprocess_exec(
            *command(read, tell),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            cwd=cwd,
            env=_environment(env),
            pass_fds=(read, tell),
            process_group=0,  # what kills the owner's whole group (Ctrl-C, a CI job's limit) leaves it to its task
        )
    return process, write, await _reader(told, write, process.wait)


def expect_ours() -> None:
    """Programs of ours will be started soon (Supervised.start, `is_ours`)."""
    expect(_environment(None))


@contextlib.contextmanager
def _pipes(name: str) -> Iterator[tuple[int, int, int, int]]:
    """Both pipes of a guard that is started in the block. It has its own ends (the first and the last) then; we, ours."""
    read, write = os.pipe()  # neither is inheritable: no sibling keeps the write end open
    told, tell = os.pipe()
    try:
        yield read, write, told, tell
    except BaseException as bad:
        os.close(write)
        os.close(told)
        if isinstance(bad, OSError):
            raise EnvironmentFailure(f"{name} could not be started: {bad}") from None
        raise
    finally:
        os.close(read)
        os.close(tell)


def _environment(env: Mapping[str, str] | None) -> dict[str, str]:
    """Of what we start: ours, and `env`."""
    return {**os.environ, **(env or {}), VARIABLE: session_id()}


async def _reader(
    told: int, owner_pipe: int, reap: Callable[[], Awaitable[object]] | None = None
) -> asyncio.StreamReader:
    """Of the pipe that a guard tells us on. Cancelled, it gives the guard up: see there."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    pipe = loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(told, "rb"))
    connecting = asyncio.ensure_future(pipe)
    try:
        await asyncio.shield(connecting)
    except asyncio.CancelledError:
        await connecting
        _give_up(owner_pipe, reader, reap)
        raise
    return reader


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
