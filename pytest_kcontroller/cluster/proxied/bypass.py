"""Who goes round the proxies: what ZooKeeper sees, compared with what has passed.

A program goes round them that was given a server's own address, or has learnt it from the ensemble's configuration. Faults
on the proxies mean nothing to it, and a test that thinks otherwise is wrong.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import psutil

from pytest_kcontroller.cluster.proxied.passing import Passing
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.view import ServerView, WordNotAllowedError
from pytest_kcontroller.cluster.zookeeper.words import Connected
from pytest_kcontroller.errors import BypassError
from pytest_kcontroller.model.cluster import Address

Connections = Mapping[int, tuple[Address, Connected]]
"""Session -> the server that it is on, and its connection."""

LOOKS, LOOK_S = 20, 0.05
"""ZooKeeper may see the end of a connection a little later than we do: what stays for so many looks is so."""
HINT = "give the program zk_proxy.connect_string, and no other address; see docs, 'Traffic that goes round the proxy'"


@dataclass(frozen=True, slots=True)
class Watchman:
    """`below`: the path that is the test's own; `proxies`: where they listen; `bystanders`: sessions that go straight."""

    passing: Passing
    view: ServerView
    below: str
    proxies: Collection[Address]
    bystanders: Callable[[], Collection[int]]

    async def check(self, what: str) -> None:
        """Raises BypassError. `what`: the fault that is void then. Without `cons` only programs on this machine are seen."""
        try:
            found = await self._round() or ([] if self.passing.sessions else await self._instead())
        except WordNotAllowedError:
            found = await self._both_ways()
        if found:
            raise BypassError(f"{what}, but {'; '.join(found)}", where=",".join(map(str, self.proxies)), hint=HINT)

    async def _round(self) -> list[str]:
        """Sessions of the proxies, or of programs that use them, on connections that did not pass."""
        connections, moved = await self._moved()
        for _ in range(LOOKS):
            if await self._sure(moved):
                break
            await asyncio.sleep(scaled(LOOK_S))
            connections, moved = await self._moved()
        strangers = connections.keys() - self.passing.sessions.keys() - set(self.bystanders())
        return [
            f"session {session:#x}, which came through the proxy, is connected to {member} from {connection.peer}"
            f"{_process(connection.peer.port)}, which did not"
            for session, (member, connection) in moved.items()
        ] + (await self._both_ways() if strangers else [])

    async def _moved(self) -> tuple[Connections, Connections]:
        """All connections as ZooKeeper has them now, and those that seem not to have passed."""
        connections = await self.view.connections()
        seem = {session: at for session, at in connections.items() if self._did_not_pass(session, at[1]) is not False}
        return connections, seem

    async def _sure(self, moved: Connections) -> bool:
        """Whether another look could acquit nobody: a connection is listed for a moment longer than its session lives, and
        without `dump` it is not known whether that is so."""
        if not all(self._did_not_pass(session, connection) for session, (_, connection) in moved.items()):
            return False
        try:
            return not moved or moved.keys() <= (await self.view.dump()).sessions
        except WordNotAllowedError:
            return False

    def _did_not_pass(self, session: int, connection: Connected) -> bool | None:
        """Of a session that came through the proxies; None: it seems so, and should be looked at again."""
        if (passed := self.passing.sessions.get(session)) is None:
            return False
        came = self.passing.came_from(connection.peer)
        if came is None:
            return False if passed.connected else None
        return not came

    async def _both_ways(self) -> list[str]:
        """Programs, not this process, that are connected to the proxies and to ZooKeeper itself."""
        straight = {end: member for member in self.view.members for end in await _ends(member)}
        proxies = {(proxy.host, proxy.port) for proxy in self.proxies}
        remotes: dict[int, set[tuple[str, int]]] = {}
        for one in _connections():
            remotes.setdefault(one.pid, set()).add((one.raddr[0], one.raddr[1]))
        return [
            f"process {pid}, which uses the proxy, is connected to {straight[end]} itself too"
            for pid, ends in sorted(remotes.items())
            if pid != os.getpid() and ends & proxies
            for end in sorted(ends & straight.keys())[:1]
        ]

    async def _instead(self) -> list[str]:
        """Nothing has ever passed: sessions that have, or watch, something of the test's."""
        dump, watches, connections = await self.view.dump(), await self._watches(), await self.view.connections()
        said = []
        for session in sorted(dump.sessions - set(self.bystanders())):
            paths = [
                path for path in (*dump.ephemerals.get(session, ()), *watches.get(session, ())) if self._ours(path)
            ]
            if paths:
                connection = connections[session][1] if session in connections else None
                peer = "" if connection is None else f", from {connection.peer}{_process(connection.peer.port)}"
                said.append(
                    f"nothing has ever passed the proxy, and session {session:#x}{peer}, has or watches {paths[0]}"
                )
        return said

    async def _watches(self) -> Mapping[int, tuple[str, ...]]:
        try:
            return await self.view.watches()
        except WordNotAllowedError:
            return {}

    def _ours(self, path: str) -> bool:
        return path == self.below or path.startswith(self.below + "/")


async def _ends(member: Address) -> list[tuple[str, int]]:
    """Its addresses as numbers."""
    try:
        infos = await asyncio.get_running_loop().getaddrinfo(member.host, member.port, type=socket.SOCK_STREAM)
    except OSError:
        return []
    return [(str(info[4][0]), member.port) for info in infos]


def _connections() -> list[Any]:
    """psutil's, of all processes that we may look at."""
    try:
        return [one for one in psutil.net_connections("tcp") if one.laddr and one.raddr and one.pid]
    except psutil.Error:
        return []


def _process(port: int) -> str:
    """` (process 123, name)` of whoever has this local port; empty if that is not known."""
    for one in _connections():
        if one.laddr[1] == port:
            try:
                return f" (process {one.pid}, {psutil.Process(one.pid).name()})"
            except psutil.Error:
                return f" (process {one.pid})"
    return ""
