"""One node of the backend `sim`: its machine, and the process on it while there is one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pytest_kcontroller.cluster.capabilities import NodeStatus
from pytest_kcontroller.cluster.contract import NodeSession
from pytest_kcontroller.cluster.misuse import not_running
from pytest_kcontroller.cluster.reports import status_of
from pytest_kcontroller.errors import EnvironmentFailure, KControllerError
from pytest_kcontroller.model.toxics import STREAMS, Toxic
from pytest_kcontroller.node.main import Node
from pytest_kcontroller.node.settings import NodeSettings
from pytest_kcontroller.runtime.scheduler import SimLoop, SimRuntime
from pytest_kcontroller.sim.link import Link
from pytest_kcontroller.sim.world import World
from pytest_kcontroller.sim.zookeeper.link import Connection, ZkLink

SIGKILLED = -9


class SimNode:
    """One machine, and the process on it while there is one. A process's loop is named as its history: `node-1.2`."""

    def __init__(self, world: World, settings: NodeSettings, exited: Callable[[int, int], None]) -> None:
        self._world, self._settings, self._exited = world, settings, exited
        self.machine = f"node-{settings.node_id}"
        self._starts = 0
        self._loop: SimLoop | None = None
        self._life: asyncio.Task[None] | None = None
        self._node: Node | None = None
        self._runtime: SimRuntime | None = None
        self.status: int | None = None
        self._paused = False
        self.frozen = False
        """At a crash point: nothing of it runs, but it has not been paused; whoever asks gets an answer."""
        self.held: list[Link] = []
        """On these waits what was about to leave when it was frozen."""
        self.write_held = False
        """Its link to ZooKeeper is held, because a write was about to leave; a fault may hold it besides."""
        self._flying = 0
        """How many requests were on their way before that write."""
        self._grants_before = 0
        """How many of its link's were granted to earlier processes."""

    @property
    def alive(self) -> bool:
        return self._loop is not None and self._loop.alive and self.status is None

    @property
    def answers(self) -> bool:
        return self.alive and not self._paused

    @property
    def _zookeeper_link(self) -> ZkLink:
        return self._world.zookeeper.link(self.machine)

    @property
    def session(self) -> NodeSession | None:
        """See contract.Sessions."""
        grants, refused = self._zookeeper_link.grants, self._zookeeper_link.refused
        if not self.alive or len(grants) <= self._grants_before or refused:
            return None
        return _granted(grants[-1], len(grants))

    @property
    def sessions(self) -> tuple[NodeSession, ...]:
        """See contract.Sessions."""
        newest = {made.session: (made, number) for number, made in enumerate(self._zookeeper_link.grants, start=1)}
        return tuple(_granted(made, number) for made, number in newest.values())

    def start(self, plugins: object) -> None:
        self.thaw()  # what a process before was about to say, when it was killed at a crash point, never leaves
        self._starts += 1
        self._paused = False
        self._grants_before = len(self._zookeeper_link.grants)
        name = self.machine if self._starts == 1 else f"{self.machine}.{self._starts}"
        self.status = None
        self._loop = loop = self._world.scheduler.process(name)
        self._runtime = self._world.runtime(loop, self.machine, session_timeout_ms=self._settings.session_timeout_ms)
        self._node = Node(self._runtime, self._settings, plugins)  # type: ignore[arg-type]
        self._life = loop.create_task(self._node.live(self._starts, ready=lambda _: None), name="node")
        self._life.add_done_callback(self._ended)

    def _ended(self, life: asyncio.Task[None]) -> None:
        """The process ends with its main task, and the status that a real one has then (node/process.py)."""
        failed = None if life.cancelled() else life.exception()
        known = failed if isinstance(failed, KControllerError) else KControllerError
        self._end(0 if failed is None else known.exit_status)

    def _end(self, status: int) -> None:
        assert self._loop is not None
        self.status = status
        self._world.scheduler.kill(self._loop)
        self._exited(self._settings.node_id, status)

    def kill(self) -> int:
        self._must_run("SIGKILL")
        self._end(SIGKILLED)
        return SIGKILLED

    def terminate(self) -> None:
        """As SIGTERM: it is told once it runs."""
        self._must_run("SIGTERM")
        assert self._loop is not None and self._life is not None and self._node is not None
        self._loop.call_soon(self._node.stop, self._life)

    def _must_run(self, signal: str) -> None:
        if not self.alive:
            raise not_running(self._settings.node_id, f"get {signal}")

    def pause(self) -> None:
        self._must_run("SIGSTOP")
        self._paused = True
        self._stop_or_go()

    def resume(self) -> None:
        self._paused = False
        self._stop_or_go()

    def freeze(self, link: Link | None) -> None:
        """At this very moment. `link`: what is said on it from now on waits; None: nothing does, or ZooKeeper's link."""
        self.frozen = True
        if link is not None:
            link.hold("upstream")
            self.held.append(link)
        self._stop_or_go()

    def freeze_write(self) -> None:
        self._flying, self.write_held = self._zookeeper_link.flying, True
        self.freeze(None)

    def thaw(self) -> None:
        """It goes on; if it has been killed at that point, what was about to leave never does."""
        self.frozen = False
        if not self.alive:
            for link in self.held:
                link.disable()
                link.enable()
            if self.write_held:
                self._zookeeper_link.reset(arriving=self._flying)
        self._stop_or_go()

    def impair_zookeeper(self, toxic: Toxic) -> None:
        self._zookeeper_link.impair(toxic)
        self._stop_or_go()

    def restore_zookeeper(self, toxic: Toxic) -> None:
        self._zookeeper_link.restore(toxic)
        self._stop_or_go()

    def _stop_or_go(self) -> None:
        """A process that is paused at a crash point has not said yet what was about to leave."""
        stopped = self.alive and (self._paused or self.frozen)
        if not stopped:
            for link in self.held:
                link.release(direction="upstream")
            self.held.clear()
            self.write_held = False
        self._zookeeper_link.hold(STREAMS if self.write_held else self._zookeeper_link.cut_ways)
        if self._loop is None or not self.alive:
            return
        if stopped:
            self._world.scheduler.pause(self._loop)
        elif self._loop.paused:
            self._world.scheduler.resume(self._loop)

    def state(self) -> str | None:
        if not self.alive or self._loop is None:
            return None
        return "T" if self._paused else "S"

    def report(self, *, unheard: bool = False) -> NodeStatus | None:
        """`unheard`: what ZooKeeper has on the way to it is pending too."""
        if not self.answers or self._node is None:
            return None
        report = self._node.report()
        if unheard:
            report = replace(report, pending=report.pending + self._zookeeper_link.unheard)
        return status_of(self._settings.node_id, report.to_json())

    def metadata(self) -> Mapping[str, Any] | None:
        return self._node.metadata() if self.answers and self._node is not None else None

    def metrics(self) -> Mapping[str, Any] | None:
        return self._node.metrics() if self.answers and self._node is not None else None

    def close_session(self) -> None:
        """See capabilities.OwnClose: it is told once it runs."""
        self._must_run("close its session")
        assert self._loop is not None and self._node is not None
        self._loop.call_soon(self._node.close_session)

    @property
    def runtime(self) -> SimRuntime:
        """Of the process that runs. Raises EnvironmentFailure."""
        if not self.answers or self._runtime is None:
            raise EnvironmentFailure(f"node {self._settings.node_id} does not answer")
        return self._runtime


def _granted(connection: Connection, number: int) -> NodeSession:
    session = connection.session
    assert session is not None
    return NodeSession(
        session_id=session.id,
        password=session.password,
        timeout_ms=session.timeout_ms,
        connected=connection.open,
        connection=number,
    )
