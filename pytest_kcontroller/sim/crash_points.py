"""Crash points: the moments in a node's life at which a fault can strike exactly.

write      a write is about to leave for ZooKeeper; written: it has had its effect, its answer is not on its way yet
request    a request is about to leave for another node

When the point is reached the process stops in its tracks, and what was about to leave waits in its kernel, until `thaw`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_kcontroller.zookeeper.session import Create, Delete, Multi, Request, SetData

if TYPE_CHECKING:
    from pytest_kcontroller.sim.link import Link
    from pytest_kcontroller.sim.world import World

WRITE, WRITTEN, REQUEST = "write", "written", "request"
CRASH_POINTS = (WRITE, WRITTEN, REQUEST)


@dataclass(eq=False, slots=True)
class _Armed:
    point: str
    missing: dict[str, int]
    """By machine: how many such moments are still to come."""
    reached: asyncio.Future[str]


class CrashPoints:
    """Of one world. `freeze(machine, point, link)` is called at the moment itself, inside of what the node does."""

    def __init__(
        self, world: World, freeze: Callable[[str, str, Link | None], None], thaw: Callable[[str], None]
    ) -> None:
        self._world, self._freeze, self._thaw = world, freeze, thaw
        self._armed: list[_Armed] = []

    async def wait(self, machines: Iterable[str], point: str, count: int) -> str:
        """Until one of them, the answer, has reached its `count`-th such moment from now on; there it stands."""
        armed = _Armed(point, dict.fromkeys(machines, count), asyncio.get_running_loop().create_future())
        self._armed.append(armed)
        self._listen()
        try:
            return await asyncio.shield(armed.reached)
        except asyncio.CancelledError:
            if armed.reached.done():  # in the very moment in which nobody waits any more
                self._thaw(armed.reached.result())
            raise
        finally:
            if armed in self._armed:
                self._armed.remove(armed)
            self._listen()

    def _listen(self) -> None:
        """Nobody looks while nothing is armed: these are hot paths."""
        zookeeper, network = self._world.zookeeper, self._world.network
        points = {armed.point for armed in self._armed}
        zookeeper.on_submit = self._submitted if WRITE in points else None
        zookeeper.on_request = self._served if WRITTEN in points else None
        network.on_send = self._sent if REQUEST in points else None

    def _submitted(self, machine: str, request: Request) -> None:
        if _writes(request):
            self._count(machine, WRITE, None)

    def _served(self, machine: str, request: Request, done: bool) -> None:
        if done and _writes(request):
            self._count(machine, WRITTEN, None)

    def _sent(self, link: Link, _: int) -> None:
        """The harness's own requests go over the same links, from its own process."""
        process = getattr(asyncio.get_running_loop(), "name", "")
        if process.partition(".")[0] == link.source:
            self._count(link.source, REQUEST, link)

    def _count(self, machine: str, point: str, link: Link | None) -> None:
        for armed in [armed for armed in self._armed if armed.point == point and machine in armed.missing]:
            armed.missing[machine] -= 1
            if armed.missing[machine] == 0:
                self._armed.remove(armed)
                self._freeze(machine, point, link)
                armed.reached.set_result(machine)


def _writes(request: Request) -> bool:
    return isinstance(request, Create | SetData | Delete | Multi)
