"""Keeps the ZooKeeper that all workers of a run share: `python -m [this module] DIRECTORY TELL [IMAGE]`.

Whoever uses it has a shared lock on a file, which the kernel takes from a process that dies, by SIGKILL too. It is a lock of
the process (fcntl, not flock), so that no fork of it has it too, which may outlive it. This process is the server's owner,
and waits for the exclusive lock: nobody uses it any more when it has that. It ends the server then and removes DIRECTORY.
run_server.py starts it, and reads one JSON line from the descriptor TELL.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from pytest_kcontroller.cluster.children.processes import session_id
from pytest_kcontroller.cluster.zookeeper.ensemble import Ensemble
from pytest_kcontroller.errors import EnvironmentFailure, KControllerError, StartError
from pytest_kcontroller.model.cluster import Address

USERS = "users.lock"
LOG = "zookeeper.log"


@dataclass(frozen=True, slots=True)
class Kept:
    """A server, and the session id of the process that keeps it."""

    server: str
    keeper: str

    @property
    def address(self) -> Address:
        return Address.parse(self.server)


@dataclass(frozen=True, slots=True)
class NotKept:
    """Why there is none; with a `phase` it is a StartError's."""

    what: str
    hint: str
    phase: str = ""
    seconds: float = 0
    command: str = ""

    @classmethod
    def of(cls, failed: KControllerError) -> NotKept:
        if isinstance(failed, StartError):
            return cls(failed.what, failed.way_out, failed.phase, failed.seconds, failed.command)
        return cls(getattr(failed, "what", str(failed)), getattr(failed, "hint", ""))

    def error(self, log: Path) -> EnvironmentFailure:
        if not self.phase:
            return EnvironmentFailure(self.what, hint=self.hint)
        return StartError(
            "ZooKeeper", phase=self.phase, seconds=self.seconds, log=log, command=self.command, hint=self.hint
        )


async def keep(directory: Path, tell: int, image: str | None) -> None:
    with (directory / USERS).open("a") as users:
        work = directory / f"server-{session_id()}"
        work.mkdir()
        try:
            server = await Ensemble.start(1, image, work / "data", logs=directory, cleanup=work)
        except KControllerError as failed:
            _tell(tell, asdict(NotKept.of(failed)))
            return  # the files say why
        _tell(tell, asdict(Kept(server.connect_string, session_id())))
        fcntl.lockf(users, fcntl.LOCK_EX)  # nothing else is to be done here meanwhile
        await server.stop()
        if os.fstat(users.fileno()).st_nlink:  # else another keeper has removed it, and it may be somebody's again
            gone = directory.with_name(f"{directory.name}-{session_id()}")
            directory.rename(gone)  # at once: who comes now makes another, in which nothing is removed
            shutil.rmtree(gone, ignore_errors=True)


def _tell(descriptor: int, said: dict[str, object]) -> None:
    """Whoever wanted to know it may have died."""
    with contextlib.suppress(BrokenPipeError), os.fdopen(descriptor, "w") as file:
        file.write(json.dumps(said))


if __name__ == "__main__":
    asyncio.run(keep(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] if sys.argv[3:] else None))
