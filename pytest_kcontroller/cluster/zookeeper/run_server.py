"""One ZooKeeper for all workers of a run: started by the first one that wants it, ended when the last one has gone.

Locks are files, which the kernel unlocks when a process dies (keeper.py). So nothing is counted, and nobody has to say
goodbye. A process loses its lock with the first descriptor of that file that it closes, so only one RunServer of a directory
is joined in it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from pytest_kcontroller.cluster.children.processes import VARIABLE, owner_lives, session_of
from pytest_kcontroller.cluster.children.supervisor import ready
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.container import PULL_S
from pytest_kcontroller.cluster.zookeeper.keeper import LOG, USERS, Kept, NotKept
from pytest_kcontroller.errors import StartError
from pytest_kcontroller.runtime.real import RealClock, RunStart

KEEPER = "pytest_kcontroller.cluster.zookeeper.keeper"
STARTING, SERVER = "starting.lock", "server.json"
START_S = PULL_S + 120.0
"""The keeper has limits of its own for the server's start, whose image it may have to pull."""
END_S = 10.0


class RunServer:
    """`directory` is the run's: the same one for all of its workers, and nobody else's. `image` as in ClusterSettings."""

    def __init__(self, directory: Path, image: str | None) -> None:
        self._directory, self._image = directory, image
        self._users: IO[str] | None = None
        """While it is locked, the server is kept."""

    def join(self) -> Kept:
        """The server that all use; started if nobody has yet. Blocks. Raises StartError, EnvironmentFailure."""
        if self._users is None or not _is_there(self._users):
            self.leave()
            self._users = self._locked_users()
        with self._starting():
            return self._known() or self._start()

    def replace(self, bad: Kept) -> Kept:
        """Another one instead of it, which does not answer any more; once, however many workers have seen that."""
        with self._starting():
            known = self._known()
            if known is not None and known != bad:
                return known
            if owner_lives(bad.keeper):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(bad.keeper.partition("-")[0]), signal.SIGKILL)  # its server ends with it
            return self._start()

    def leave(self) -> None:
        """Returns when the server has ended, if nobody else uses it. Idempotent."""
        if self._users is None:
            return
        users, self._users = self._users, None
        with users:
            known = self._known() if _is_there(users) else None
            last = known is not None and _alone(users)
        if known is not None and last:
            _wait_ended(int(known.keeper.partition("-")[0]))

    def _locked_users(self) -> IO[str]:
        """Of the directory as it is now: a keeper that has just ended has removed the one before."""
        while True:
            self._directory.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                users = (self._directory / USERS).open("a+")
                fcntl.lockf(users, fcntl.LOCK_SH)
                if _is_there(users):
                    return users
                users.close()

    @contextmanager
    def _starting(self) -> Iterator[None]:
        """One after the other."""
        with (self._directory / STARTING).open("a") as starting:
            fcntl.lockf(starting, fcntl.LOCK_EX)
            yield

    def _known(self) -> Kept | None:
        """One that somebody has started and that is kept still."""
        try:
            known = Kept(**json.loads((self._directory / SERVER).read_bytes()))
        except FileNotFoundError:
            return None
        return known if owner_lives(known.keeper) else None

    def _start(self) -> Kept:
        clock = RealClock(RunStart.now())
        said = self._say_of_keeper()
        if not said:
            where, seconds = self._directory / "keeper.log", clock.now_us() / 1e6
            raise StartError("ZooKeeper", phase="its keeper said nothing", seconds=seconds, log=where, command="")
        if "server" not in said:
            raise NotKept(**said).error(self._directory / LOG)
        kept = Kept(**said)
        written = self._directory / f"{SERVER}.part"
        written.write_text(json.dumps(asdict(kept)))
        written.replace(self._directory / SERVER)
        return kept

    def _say_of_keeper(self) -> dict[str, Any]:
        """Of a new one; empty if it ended before. It is in no group of ours: it outlives the one that starts it."""
        told, tell = os.pipe()
        os.set_inheritable(tell, True)
        log = str(self._directory / "keeper.log")
        command = [sys.executable, "-m", KEEPER, str(self._directory), str(tell), *filter(None, [self._image])]
        try:
            os.posix_spawn(
                sys.executable,
                command,
                {**os.environ, VARIABLE: session_of(os.getppid())},
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
                    (os.POSIX_SPAWN_DUP2, 1, 2),
                ],
                setpgroup=0,
            )
        finally:
            os.close(tell)
        with os.fdopen(told, "rb") as answer:
            in_time = ready(answer.fileno(), limit_s=scaled(START_S))
            return dict(json.loads(answer.read() or "{}")) if in_time else {}


def _is_there(file: IO[str]) -> bool:
    """Whether the directory has it still."""
    return os.fstat(file.fileno()).st_nlink > 0


def _alone(users: IO[str]) -> bool:
    """Whether nobody else uses it. The lock is left as it may be: it is closed next."""
    try:
        fcntl.lockf(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait_ended(pid: int) -> None:
    """A worker that comes at this moment is the one exception: it is kept on then."""
    with contextlib.suppress(ProcessLookupError):
        process = os.pidfd_open(pid)
        try:
            ready(process, limit_s=scaled(END_S))
        finally:
            os.close(process)
