"""Crash points: the moments in a node's life at which a fault can strike exactly.

write      a write is about to leave for ZooKeeper; written: it has had its effect, its answer is not on its way yet
request    a request is about to leave for another node
rare-write, rare-written
           the same as the first two, of a write whose kind is rare: ZooKeeper has had so many of them at most, this one
           too, since its log begins. What it does (create, set, delete) and where (the first two names of the path, and its
           depth) is a kind; a multi is as rare as the rarest of its operations.

When the point is reached the process stops in its tracks, and what was about to leave waits in its kernel, until `thaw`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_kcontroller.zookeeper.session import Create, Delete, Multi, Request, SetData

if TYPE_CHECKING:
    from pytest_kcontroller.sim.link import Link
    from pytest_kcontroller.sim.world import World

WRITE, WRITTEN, REQUEST = "write", "written", "request"
RARE_WRITE, RARE_WRITTEN = "rare-write", "rare-written"
CRASH_POINTS = (WRITE, WRITTEN, REQUEST, RARE_WRITE, RARE_WRITTEN)

_Kind = tuple[str, ...]
_NAMES = {Create: "create", SetData: "set", Delete: "delete"}


@dataclass(eq=False, slots=True)
class _Armed:
    point: str
    missing: dict[str, int]
    """By machine: how many such moments are still to come, or how rare it must be."""
    reached: asyncio.Future[str]


class CrashPoints:
    """Of one world. `freeze(machine, point, link)` is called at the moment itself, inside of what the node does."""

    def __init__(
        self, world: World, freeze: Callable[[str, str, Link | None], None], thaw: Callable[[str], None]
    ) -> None:
        self._world, self._freeze, self._thaw = world, freeze, thaw
        self._armed: list[_Armed] = []
        self._seen: Counter[_Kind] = Counter()
        """The kinds of what ZooKeeper has accepted, as far as its log has been looked at."""
        self._looked_at = 0

    async def wait(self, machines: Iterable[str], point: str, count: int) -> str:
        """Until one of them, the answer, has reached its `count`-th such moment from now on, or one that is as rare as that;
        there it stands."""
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
        zookeeper.on_submit = self._submitted if points & {WRITE, RARE_WRITE} else None
        zookeeper.on_request = self._served if points & {WRITTEN, RARE_WRITTEN} else None
        network.on_send = self._sent if REQUEST in points else None

    def _submitted(self, machine: str, request: Request) -> None:
        if _writes(request):
            self._count(machine, WRITE, None)
            self._meet(machine, RARE_WRITE, request, before=True)

    def _served(self, machine: str, request: Request, done: bool) -> None:
        if done and _writes(request):
            self._count(machine, WRITTEN, None)
            self._meet(machine, RARE_WRITTEN, request, before=False)

    def _sent(self, link: Link, _: int) -> None:
        """The harness's own requests go over the same links, from its own process."""
        process = getattr(asyncio.get_running_loop(), "name", "")
        if process.partition(".")[0] == link.source:
            self._count(link.source, REQUEST, link)

    def _count(self, machine: str, point: str, link: Link | None) -> None:
        for armed in self._waiting(machine, point):
            armed.missing[machine] -= 1
            if armed.missing[machine] == 0:
                self._strike(armed, machine, point, link)

    def _meet(self, machine: str, point: str, request: Request, *, before: bool) -> None:
        """A write, which ZooKeeper's log does not have yet, or (not `before`) has already."""
        if waiting := self._waiting(machine, point):
            self._look()
            number = min((self._seen[kind] for kind in _kinds(request)), default=0) + before
            for armed in waiting:
                if number <= armed.missing[machine]:
                    self._strike(armed, machine, WRITE if before else WRITTEN, None)

    def _waiting(self, machine: str, point: str) -> list[_Armed]:
        return [armed for armed in self._armed if armed.point == point and machine in armed.missing]

    def _strike(self, armed: _Armed, machine: str, point: str, link: Link | None) -> None:
        self._armed.remove(armed)
        self._freeze(machine, point, link)
        armed.reached.set_result(machine)

    def _look(self) -> None:
        """At what ZooKeeper has logged since the last time."""
        txns = self._world.zookeeper.txns
        for _, txn in txns[self._looked_at :]:
            if not txn.refused:
                named = [(op.type, op.path) for op in txn.ops if op.path and op.type != "check"]
                self._seen.update(dict.fromkeys(_kind(does, path) for does, path in named).keys())
        self._looked_at = len(txns)


def _writes(request: Request) -> bool:
    return isinstance(request, Create | SetData | Delete | Multi)


def _kinds(request: Request) -> list[_Kind]:
    """Of what it writes."""
    ops = request.ops if isinstance(request, Multi) else (request,)
    return [_kind(_NAMES[type(op)], op.path) for op in ops if isinstance(op, Create | SetData | Delete)]


def _kind(does: str, path: str) -> _Kind:
    names = path.split("/")
    return ("create" if does.startswith("create") else does, *names[1:3], str(len(names)))
