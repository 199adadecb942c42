"""What nodes stand on, handed on from one cluster to the next: ZooKeeper, the relays to it, and the proxies.

They are most of the cost of a cluster (a JVM is), and nothing of the cluster before need be left in them. So it is taken
away, and then looked for: the proxies pass everything, no session lives, no znode is there. Nodes are never handed on:
their memory and their disks are their own. What is not as new is ended as ever, and the next cluster starts cold.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

from pytest_kcontroller.cluster.admin import AdminSession
from pytest_kcontroller.cluster.ending import end_all
from pytest_kcontroller.cluster.observed import MOST_ADDED, ClusterSettings
from pytest_kcontroller.cluster.process.links import Links
from pytest_kcontroller.cluster.process.session_relays import SessionRelays
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.end_session import close_session
from pytest_kcontroller.cluster.zookeeper.ensemble import Ensemble
from pytest_kcontroller.cluster.zookeeper.server import LogPlace, ZooKeeper
from pytest_kcontroller.cluster.zookeeper.words import read_dump
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.zookeeper.session import (
    Create,
    Delete,
    GetChildren,
    GetData,
    Multi,
    MultiRead,
    ReadOp,
    RolledBackError,
    ZkError,
    ZkSession,
)

RENEW_S = 10.0
CLOSE_S = 5.0
ANSWER_S = 2.0
POLL_S = 0.01
CHUNK_OPS = 500
ZOOKEEPER_LOG = "zookeeper.log"
LOGS = (ZOOKEEPER_LOG, "session-relay.log", "toxiproxy.log")
OWN, QUOTA = "/zookeeper", "/zookeeper/quota"
"""ZooKeeper's own znodes."""
PROBE = "/kcontroller-probe"

_log = logging.getLogger(__name__)


class NotAsNewError(EnvironmentFailure):
    """Something of the cluster before is left."""


@dataclass(slots=True)
class LogSlice:
    """What a log gets from now on. The file may be removed meanwhile: whoever writes it goes on, and so do we."""

    descriptor: int
    begin: int = 0

    def read(self) -> bytes:
        return os.pread(self.descriptor, os.fstat(self.descriptor).st_size - self.begin, self.begin)

    @property
    def path(self) -> Path:
        """Of the file as we have it open: to be opened once more, as by a server that is started again."""
        return Path(f"/proc/self/fd/{self.descriptor}")

    def forget(self) -> None:
        self.begin = os.fstat(self.descriptor).st_size


Choices = Mapping[str, str]
"""Variables of the environment that say which ZooKeeper, Java and proxies are started."""


def choices_now() -> Choices:
    names = (name for name in os.environ if name.startswith("KCONTROLLER_") or name in ("JAVA_HOME", "PATH"))
    return {name: os.environ[name] for name in sorted(names)}


@dataclass(slots=True)
class Ground:
    """`image` as in ClusterSettings; `choices` as the environment had them when it was started; `zookeeper` is one server;
    `work` is the directory of all that runs, and is removed at the end."""

    image: str | None
    choices: Choices
    zookeeper: Ensemble
    relays: SessionRelays
    links: Links
    work: Path
    logs: dict[str, LogSlice] = field(default_factory=dict)
    """File name -> what the cluster that stands here has of it."""
    since: LogPlace | None = None
    """Where in ZooKeeper's transaction log the cluster that stands here begins."""

    def fits(self, settings: ClusterSettings) -> bool:
        """Whether it is what such a cluster would start itself, and is enough for it. The seed is told to the proxies when
        it is taken over."""
        is_enough = len(self.relays.nodes) >= settings.nodes + MOST_ADDED
        same = (self.image, self.choices) == (settings.zookeeper_image, choices_now())
        return same and is_enough and settings.zookeeper == 1

    def keep_logs(self, directory: Path) -> None:
        """Where the first cluster has them: they stay there as they are, and go on elsewhere. Raises NotAsNewError."""
        self._check_runs()
        if not self.logs:
            try:
                for name in LOGS:
                    self.logs[name] = LogSlice(os.open(directory / name, os.O_RDONLY))
                self.export_logs(directory)
                self._server.log = self.logs[ZOOKEEPER_LOG].path
            except OSError as gone:
                raise NotAsNewError(f"a log is not where it was: {gone}") from None

    def export_logs(self, to: Path) -> None:
        for name, part in self.logs.items():
            copy = to / f"{name}.part"
            copy.write_bytes(part.read())
            copy.replace(to / name)

    async def renew(self) -> None:
        """Once the nodes have ended. Raises NotAsNewError, EnvironmentFailure: something does not answer, or is left."""
        try:
            async with within(scaled(RENEW_S)):
                await self.links.renew()
                await self._end_sessions()
                await self._delete_znodes()
                await self.check()
        except TimeoutError:
            raise NotAsNewError(f"it could not be made as new within {scaled(RENEW_S):g} s") from None
        self.relays.renew()
        for left in self.work.glob("node-*"):
            shutil.rmtree(left)
        for part in self.logs.values():
            part.forget()
        self.since = self._server.log_end(self.since)

    @property
    def _server(self) -> ZooKeeper:
        return self.zookeeper.servers[1]

    async def check_idle(self) -> None:
        """That nothing has happened since it was made as new. Raises NotAsNewError, EnvironmentFailure."""
        await self.check()
        if self._server.log_end(self.since) != self.since:  # a client that somebody has left was there, and has gone
            raise NotAsNewError("ZooKeeper was written to while no cluster stood there")

    async def check(self) -> None:
        """That all of it runs, and nobody has a session. Raises NotAsNewError, EnvironmentFailure."""
        self._check_runs()
        if left := await self._sessions():
            raise NotAsNewError(f"the session {min(left):#x} lives, which no node of the cluster had")

    def _check_runs(self) -> None:
        if self.zookeeper.was_touched or len(self.zookeeper.servers) > 1:
            raise NotAsNewError("ZooKeeper was stopped, or started again, or is an ensemble")
        if not (self.relays.alive and self.links.alive):
            raise NotAsNewError("the relays or the proxies have ended")

    async def _sessions(self) -> frozenset[int]:
        answer = await self._server.four_letter_word("dump", ANSWER_S)
        if "SessionTracker dump" not in answer:
            raise NotAsNewError("ZooKeeper does not say which sessions live")
        return read_dump(answer).sessions

    async def _end_sessions(self) -> None:
        """Those of nodes that were killed; what a node has closed itself may still be on its way."""
        known = {session.session_id: session for node in self.relays.nodes for session in self.relays.sessions(node)}
        while left := await self._sessions():
            if foreign := left - known.keys():
                raise NotAsNewError(f"the session {min(foreign):#x} lives, which no node of the cluster had")
            for session_id in sorted(left):
                try:
                    address, password = self._server.address, known[session_id].password
                    await close_session(address, session_id, password, timeout_s=scaled(CLOSE_S))
                except EnvironmentFailure:
                    await asyncio.sleep(POLL_S)  # it has just ended: the next look shows it

    async def _delete_znodes(self) -> None:
        admin = await AdminSession.open(self.zookeeper.connect_string)
        try:
            await _delete_znodes(admin.session)
        except ZkError as refused:
            raise NotAsNewError(f"znodes are left: {refused!r}") from None
        finally:
            await admin.close()

    def close_logs(self) -> None:
        for part in self.logs.values():
            os.close(part.descriptor)
        self.logs.clear()

    async def end(self) -> None:
        """Ends it all."""
        self.close_logs()
        ends = [self.links.stop], [self.relays.stop], [self.zookeeper.stop], [partial(_remove, self.work)]
        await end_all(*ends)


async def _remove(work: Path) -> None:
    shutil.rmtree(work, ignore_errors=True)


async def _delete_znodes(session: ZkSession) -> None:
    """Raises NotAsNewError, ZkError: an ACL forbids it."""
    while levels := await _levels(session):
        paths = [path for level in reversed(levels) for path in level]
        for at in range(0, len(paths), CHUNK_OPS):
            _raise_refused(await session.submit(Multi(tuple(Delete(path) for path in paths[at : at + CHUNK_OPS]))))
    root, own = await _read(session, [GetData("/"), GetData(OWN)])
    if root.data or root.stat.version or own.stat.version:
        raise NotAsNewError("the root znode, or ZooKeeper's own, has been written to")
    _raise_refused(await session.submit(Multi((Create(PROBE), Delete(PROBE)))))  # which an ACL of the root may forbid


async def _levels(session: ZkSession) -> list[list[str]]:
    """Everything but ZooKeeper's own: the children of the root, their children, ..."""
    top, quotas = await _read(session, [GetChildren("/"), GetChildren(QUOTA)])
    paths = [f"/{name}" for name in top.names if f"/{name}" != OWN] + [f"{QUOTA}/{name}" for name in quotas.names]
    levels: list[list[str]] = []
    while paths:
        levels.append(paths)
        below = await _read(session, [GetChildren(path) for path in paths])
        paths = [f"{path}/{name}" for path, found in zip(paths, below, strict=True) for name in found.names]
    return levels


async def _read(session: ZkSession, reads: Sequence[ReadOp]) -> list[Any]:
    """A Node or Children for each. Raises ZkError."""
    found: list[Any] = []
    for at in range(0, len(reads), CHUNK_OPS):
        found += _raise_refused(await session.submit(MultiRead(tuple(reads[at : at + CHUNK_OPS]))))
    return found


def _raise_refused(answers: Any) -> Sequence[Any]:
    refused = [answer for answer in answers if isinstance(answer, ZkError)]
    if refused:
        raise next((each for each in refused if not isinstance(each, RolledBackError)), refused[0])
    return cast("Sequence[Any]", answers)


class Grounds:
    """Those that nobody stands on, for clusters of one loop: at most `most`."""

    def __init__(self, most: int = 1) -> None:
        self._most, self._free = most, list[Ground]()

    async def take(self, settings: ClusterSettings) -> Ground | None:
        """One that runs, and has all that such a cluster needs."""
        for ground in list(self._free):
            if not ground.fits(settings):
                continue
            self._free.remove(ground)
            try:
                await ground.check_idle()
            except EnvironmentFailure as ended:
                _log.info("ZooKeeper and the proxies are not handed on: %s", ended)
                await ground.end()
            except BaseException:  # a test that was given up: it is there for the next one
                self._free.append(ground)
                raise
            else:
                return ground
        return None

    async def give(self, ground: Ground, logs: Path) -> bool:
        """`logs` is where its first cluster has them. False: it is not as new, and stays the giver's."""
        try:
            ground.keep_logs(logs)
            await ground.renew()
        except EnvironmentFailure as left:
            _log.info("ZooKeeper and the proxies are not handed on: %s", left)
            ground.close_logs()
            return False
        self._free.append(ground)
        while len(self._free) > self._most:
            await self._free.pop(0).end()
        return True

    async def close(self) -> None:
        """Ends them all."""
        free, self._free = self._free, []
        await end_all([ground.end for ground in free])
