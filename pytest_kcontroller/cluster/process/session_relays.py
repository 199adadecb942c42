"""The nodes' ZooKeeper sessions, as they pass the relays between the proxies and ZooKeeper (session_relay.py)."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, Self

from pytest_kcontroller.cluster.children.patience import Patience
from pytest_kcontroller.cluster.children.processes import Supervised
from pytest_kcontroller.cluster.contract import NodeSession
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import StartError
from pytest_kcontroller.model.cluster import Address

MODULE = "pytest_kcontroller.cluster.process.session_relay"
START_S = 15.0
POLL_S = 0.02


class Child(Protocol):
    """What the relays run in."""

    @property
    def pid(self) -> int | None: ...
    @property
    def returncode(self) -> int | None: ...
    async def wait(self) -> int: ...
    async def stop(self, grace_s: float) -> int: ...
    async def kill(self) -> int: ...


Run = Callable[[Sequence[str], Path], Awaitable[Child]]
"""Starts MODULE with these arguments, and a log."""
OURS = (sys.executable, "-m", MODULE)


async def _run(arguments: Sequence[str], log: Path) -> Child:
    return await Supervised.start("the relays to ZooKeeper", [*OURS, *arguments], log=log, is_ours=True)


class LinkSessions:
    """What was granted on one node's link, in the order in which it passed."""

    def __init__(self) -> None:
        self._sessions: dict[int, NodeSession] = {}
        self._of_connection: dict[int, int] = {}
        self._newest: int | None = None
        self._last = -1
        """The newest connection; later ones have greater numbers."""
        self._before = -1
        """The newest one of the process before."""

    def renewed(self) -> LinkSessions:
        """Nothing was granted yet; what is heard of old connections counts no more."""
        new = LinkSessions()
        new._last = new._before = self._last
        return new

    def begin(self) -> None:
        """A new process: what was granted until now is not its own, nor what is granted on connections until now."""
        self._newest, self._before = None, self._last

    def take(self, said: dict[str, Any]) -> None:
        connection = said["connection"]
        self._last = max(self._last, connection)
        if "session" in said:
            self._granted(connection, said)
        elif "refused" in said:
            self._newest = self._newest if connection <= self._before else None
        elif "closed" in said:
            self._closed(connection)

    def _granted(self, connection: int, said: dict[str, Any]) -> None:
        session_id = int(said["session"], 16)
        if connection > self._before:
            self._newest = session_id
        self._of_connection[connection] = session_id
        self._sessions[session_id] = NodeSession(
            session_id=session_id,
            password=bytes.fromhex(said["password"]),
            timeout_ms=said["timeout_ms"],
            connected=True,
            connection=connection,
        )

    def _closed(self, connection: int) -> None:
        ended = self._of_connection.pop(connection, None)
        # It may have been resumed on another connection before this one ended.
        if ended is not None and ended not in self._of_connection.values():
            self._sessions[ended] = replace(self._sessions[ended], connected=False)

    @property
    def current(self) -> NodeSession | None:
        return None if self._newest is None else self._sessions[self._newest]

    @property
    def open(self) -> tuple[NodeSession, ...]:
        """Those of this process that are connected: a program may have several clients."""
        return tuple(one for one in self._sessions.values() if one.connected and one.connection > self._before)

    @property
    def all(self) -> tuple[NodeSession, ...]:
        return tuple(self._sessions.values())


class SessionRelays:
    """The relays of one cluster; made by `start`, ended by `stop`."""

    def __init__(self, process: Child, file: Path, nodes: Sequence[int]) -> None:
        self._process, self._file, self._offset = process, file, 0
        self._links = {node: LinkSessions() for node in nodes}
        self.addresses: dict[int, tuple[Address, ...]] = {}
        """Node -> where its relay to each of ZooKeeper's servers listens."""

    @classmethod
    async def start(
        cls, nodes: Sequence[int], zookeeper: str, *, directory: Path, log: Path, run: Run | None = None
    ) -> Self:
        """`zookeeper`: HOST:PORT of each server, with commas. `run` (default: a process of ours) starts MODULE.

        `directory` gets a file with the sessions' passwords. Raises StartError."""
        file = directory / "sessions.jsonl"
        arguments = [zookeeper, ",".join(map(str, nodes)), str(file)]
        process = await (run or _run)(arguments, log)
        relays = cls(process, file, nodes)
        try:
            await relays._ready(log, shlex.join([*OURS, *arguments]))
        except BaseException:
            await process.kill()
            raise
        return relays

    async def _ready(self, log: Path, command: str) -> None:
        patience, phase = Patience(scaled(START_S), self._process.pid), "no answer"
        while patience.left_s:
            if self._process.returncode is not None:
                phase = f"it ended with status {self._process.returncode}"
                break
            self._read()
            if self.addresses:
                return
            await asyncio.sleep(POLL_S)
        raise StartError("the relays to ZooKeeper", phase=phase, seconds=patience.seconds, log=log, command=command)

    @property
    def pid(self) -> int | None:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    @property
    def nodes(self) -> tuple[int, ...]:
        """Those that there is a relay for."""
        return tuple(self._links)

    def renew(self) -> None:
        """Other nodes begin, once all of before have ended."""
        self._read()
        self._links = {node: link.renewed() for node, link in self._links.items()}

    def begin(self, node: int) -> None:
        """Its process is about to be started."""
        self._read()
        self._links[node].begin()

    def session(self, node: int) -> NodeSession | None:
        """See contract.Sessions."""
        self._read()
        return self._links[node].current

    def sessions(self, node: int) -> tuple[NodeSession, ...]:
        """See contract.Sessions."""
        self._read()
        return self._links[node].all

    def open_sessions(self, node: int) -> tuple[NodeSession, ...]:
        """See LinkSessions.open."""
        self._read()
        return self._links[node].open

    def _read(self) -> None:
        """What has passed since the last look."""
        try:
            if self._file.stat().st_size == self._offset:
                return
        except FileNotFoundError:
            return
        with self._file.open("rb") as file:
            file.seek(self._offset)
            whole, newline, _ = file.read().rpartition(b"\n")
        self._offset += len(whole) + len(newline)
        for line in whole.splitlines():
            said = json.loads(line)
            if "listening" in said:
                relays = [tuple(map(Address.parse, of_node)) for of_node in said["listening"]]
                self.addresses = dict(zip(self._links, relays, strict=True))
            else:
                self._links[said["node"]].take(said)

    async def wait_ended(self) -> str:
        """How, once they have."""
        return f"their process ended with status {await self._process.wait()}"

    async def stop(self) -> None:
        await self._process.stop(scaled(2))
