"""The backend `sim`: nodes, network and ZooKeeper in virtual time, all of one seed. The nodes run their usual code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pytest_kcontroller.cluster.admin import TIMEOUT_MS
from pytest_kcontroller.cluster.capabilities import CRASH_POINTS, HOLDS, REPORTS, NodeStatus
from pytest_kcontroller.cluster.contract import ZOOKEEPER, LinkState, NodeSession
from pytest_kcontroller.cluster.misuse import not_running, running_already, unknown_node
from pytest_kcontroller.cluster.observed import ClusterSettings, ObservedCluster, status_of
from pytest_kcontroller.cluster.timing import stretched
from pytest_kcontroller.errors import EnvironmentFailure, StartError
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.node.main import Node
from pytest_kcontroller.node.settings import NodeSettings
from pytest_kcontroller.plugin.manager import Plugins
from pytest_kcontroller.runtime.ports import Transport
from pytest_kcontroller.runtime.scheduler import SimLoop, SimRuntime
from pytest_kcontroller.sim.crash_points import WRITE, CrashPoints
from pytest_kcontroller.sim.link import LEAST_US, MOST_US, Link
from pytest_kcontroller.sim.world import World
from pytest_kcontroller.sim.zookeeper.link import Connection, ZkLink
from pytest_kcontroller.sim.zookeeper.session import SimConnector
from pytest_kcontroller.zookeeper.session import SessionEvent, ZkSession

SIGKILLED = -9
FAILED = 1
START_S = 30.0
CONTROL_PORT = 9092


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
        self.cut_off = self.write_held = False
        """Why its link to ZooKeeper is held: by a fault; because a write was about to leave."""
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
        grants = self._zookeeper_link.grants[self._grants_before :]
        return None if not self.alive or not grants or self._zookeeper_link.refused else _granted(grants[-1])

    @property
    def sessions(self) -> tuple[NodeSession, ...]:
        """See contract.Sessions."""
        newest = {connection.session: connection for connection in self._zookeeper_link.grants}
        return tuple(_granted(connection) for connection in newest.values())

    def start(self, plugins: object) -> None:
        self._starts += 1
        self._paused = self.frozen = False
        self._grants_before = len(self._zookeeper_link.grants)
        name = self.machine if self._starts == 1 else f"{self.machine}.{self._starts}"
        self.status = None
        self._loop = loop = self._world.scheduler.process(name)
        self._runtime = self._world.runtime(loop, self.machine, session_timeout_ms=self._settings.session_timeout_ms)
        self._node = Node(self._runtime, self._settings, plugins)  # type: ignore[arg-type]
        self._life = loop.create_task(self._node.live(self._starts, ready=lambda _: None), name="node")
        self._life.add_done_callback(self._ended)

    def _ended(self, life: asyncio.Task[None]) -> None:
        """The process ends with its main task."""
        failed = None if life.cancelled() else life.exception()
        self._end(FAILED if failed is not None else 0)

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

    def hold_zookeeper(self, *, cut_off: bool) -> None:
        self.cut_off = cut_off
        self._stop_or_go()

    def _stop_or_go(self) -> None:
        """A process that is paused at a crash point has not said yet what was about to leave."""
        stopped = self.alive and (self._paused or self.frozen)
        if not stopped:
            for link in self.held:
                link.release(direction="upstream")
            self.held.clear()
            self.write_held = False
        zookeeper = self._zookeeper_link
        wanted = self.cut_off or self.write_held
        if wanted and not zookeeper.is_held:
            zookeeper.hold()
        elif not wanted and zookeeper.is_held:
            zookeeper.heal()
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

    def report(self) -> NodeStatus | None:
        if not self.answers or self._node is None:
            return None
        return status_of(self._settings.node_id, self._node.report().to_json())

    def metadata(self) -> Mapping[str, Any] | None:
        return self._node.metadata() if self.answers and self._node is not None else None

    @property
    def runtime(self) -> SimRuntime:
        """Of the process that runs. Raises EnvironmentFailure."""
        if not self.answers or self._runtime is None:
            raise EnvironmentFailure(f"node {self._settings.node_id} does not answer")
        return self._runtime


def _granted(connection: Connection) -> NodeSession:
    session = connection.session
    assert session is not None
    return NodeSession(
        session_id=session.id, password=session.password, timeout_ms=session.timeout_ms, connected=connection.open
    )


class SimCluster(ObservedCluster):
    """See contract.Cluster. Its methods run in a process of the world (the harness's), as they wait in virtual time."""

    offers = (HOLDS, CRASH_POINTS, REPORTS)

    def __init__(
        self,
        world: World,
        settings: ClusterSettings,
        directory: Path,
        on_exit: Callable[[int, int], None],
        loop: SimLoop,
        plugins: Plugins | None,
    ) -> None:
        super().__init__(settings, directory, plugins)
        self._world, self._on_exit = world, on_exit
        self._nodes: dict[int, SimNode] = {}
        self._connector: SimConnector | None = None
        self._admin: ZkSession | None = None
        self._crash_points = CrashPoints(world, self._freeze, lambda machine: self._node(_number(machine)).thaw())
        self._routes: dict[str, Transport] = {}
        self._loop = loop
        self._stopping = False

    @classmethod
    async def start(
        cls,
        world: World,
        settings: ClusterSettings,
        directory: Path,
        *,
        on_exit: Callable[[int, int], None],
        loop: SimLoop,
        plugins: Plugins | None = None,
    ) -> Self:
        """`loop` is the process that this runs in. Raises StartError: a node is not registered in time, or ended."""
        cluster = cls(world, settings, directory, on_exit, loop, plugins)
        cluster._connector = SimConnector(world.zookeeper, loop, timeout_ms=TIMEOUT_MS)
        cluster._admin = await cluster._connector.open(_ignore)
        for node in range(settings.nodes):
            cluster._nodes[node] = SimNode(world, cluster._settings_of(node), cluster._exited)
            cluster._nodes[node].start(cluster._plugins)
        for node in cluster.nodes:
            await cluster._wait_registered(node)
        return cluster

    def _settings_of(self, node: int) -> NodeSettings:
        return NodeSettings(
            node_id=node,
            zookeeper="zookeeper:2181",
            listen=f"node-{node}:{CONTROL_PORT}",
            session_timeout_ms=self.settings.session_timeout_ms,
            selectors=self.settings.selectors,
            assignment=self.settings.assignment,
            config=self.settings.config,
            plugins=self.settings.plugins,
            plugin_limit_s=stretched(self.settings.plugin_limit_s),
            seed=self.settings.seed,
        )

    async def _wait_registered(self, node: int) -> None:
        began_us = self._world.clock.now_us()

        async def check() -> str | None:
            return await self._registered(node) if self._nodes[node].alive else None

        limit_s = START_S + self.session_timeout_ms / 1000  # a dead predecessor's session can still hold its place
        try:
            await self.wait_until(f"node {node} is registered", check, timeout_s=limit_s)
        except EnvironmentFailure as late:
            raise self._not_started(node, str(late), began_us) from None
        if not self._nodes[node].alive:
            raise self._not_started(node, f"it ended with status {self._nodes[node].status}", began_us)

    def _not_started(self, node: int, phase: str, began_us: int) -> StartError:
        seconds = (self._world.clock.now_us() - began_us) / 1e6
        log = self.directory / "logs" / f"node-{node}.log"
        hint = "the same seed shows it again"
        return StartError(f"node {node}", phase=phase, seconds=seconds, log=log, command="", hint=hint)

    # --- what there is

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(sorted(self._nodes))

    @property
    def running(self) -> tuple[int, ...]:
        return tuple(node for node in self.nodes if self._nodes[node].alive)

    @property
    def admin(self) -> ZkSession:
        assert self._admin is not None
        return self._admin

    async def renew_admin(self) -> None:
        assert self._connector is not None
        self._admin = await self._connector.open(_ignore)

    def _node(self, node: int) -> SimNode:
        if (found := self._nodes.get(node)) is None:
            raise unknown_node(node, self.nodes)
        return found

    # --- processes

    async def kill(self, node: int) -> int:
        return self._node(node).kill()

    async def terminate(self, node: int) -> None:
        self._node(node).terminate()

    async def stop_node(self, node: int) -> int:
        found = self._node(node)
        found.terminate()

        async def check() -> str | None:
            return "it runs" if found.alive else None

        await self.wait_until(f"node {node} ends", check, timeout_s=self.stop_s)
        assert found.status is not None
        return found.status

    async def restart(self, node: int) -> None:
        if self._node(node).alive:
            raise running_already(node)
        self._node(node).start(self._plugins)
        await self._wait_registered(node)

    async def pause(self, node: int) -> None:
        self._node(node).pause()

    async def resume(self, node: int) -> None:
        self._node(node).resume()

    def process_state(self, node: int) -> str | None:
        return self._node(node).state()

    async def status(self, node: int) -> NodeStatus | None:
        return self._node(node).report()

    async def metadata(self, node: int) -> Mapping[str, Any] | None:
        return self._node(node).metadata()

    async def hold(self, node: int, point: str) -> None:
        self._node(node).runtime.holds.arm(point)

    async def release(self, node: int, point: str) -> None:
        self._node(node).runtime.holds.release(point)

    async def reach(self, nodes: Sequence[int], point: str, count: int) -> int:
        machine = await self._crash_points.wait([self._node(node).machine for node in nodes], point, count)
        return _number(machine)

    def _freeze(self, machine: str, point: str, link: Link | None) -> None:
        node = self._node(_number(machine))
        if point == WRITE:
            node.freeze_write()
        else:
            node.freeze(link)

    async def thaw(self, node: int) -> None:
        self._node(node).thaw()

    # --- links and sessions

    async def cut(self, source: str, target: str, plane: str) -> None:
        if ZOOKEEPER in (source, target):
            self._node(int(source if target == ZOOKEEPER else target)).hold_zookeeper(cut_off=True)
        else:
            self._world.network.link(_machine(source), _machine(target)).cut()

    async def heal(self, source: str, target: str, plane: str) -> None:
        if ZOOKEEPER in (source, target):
            self._node(int(source if target == ZOOKEEPER else target)).hold_zookeeper(cut_off=False)
        else:
            self._world.network.link(_machine(source), _machine(target)).mend()

    async def slow(self, source: str, target: str, plane: str, *, delay_ms: int) -> None:
        late_us = delay_ms * 1000
        if ZOOKEEPER in (source, target):
            self._world.zookeeper.link(_machine(source if target == ZOOKEEPER else target)).slow(late_us)
            return
        self._world.network.link(_machine(source), _machine(target)).slow(LEAST_US + late_us, MOST_US + late_us)

    async def link_state(self, source: str, target: str, plane: str) -> LinkState:
        if ZOOKEEPER in (source, target):
            way = self._world.zookeeper.link(_machine(source if target == ZOOKEEPER else target))
            return LinkState(cut=way.is_held or way.is_cut, delay_ms=way.late_us / 1000)
        link = self._world.network.link(_machine(source), _machine(target))
        return LinkState(cut=link.is_cut, delay_ms=link.late_us / 1000)

    def session(self, node: int) -> NodeSession | None:
        return self._node(node).session

    def sessions(self, node: int) -> tuple[NodeSession, ...]:
        return self._node(node).sessions

    async def zookeeper_round_trip_us(self, node: int, *, limit_s: float) -> int | None:
        try:
            async with asyncio.timeout(limit_s):
                return await self._world.zookeeper.link(self._node(node).machine).round_trip_us(self._loop)
        except TimeoutError:
            return None

    async def reset(self, source: str, target: str, plane: str) -> None:
        if ZOOKEEPER in (source, target):
            self._world.zookeeper.link(_machine(source if target == ZOOKEEPER else target)).reset()
        else:
            link = self._world.network.link(_machine(source), _machine(target))
            link.disable()
            link.enable()

    def route(self, source: str, target: str) -> tuple[Transport, Address]:
        if (transport := self._routes.get(source)) is None:
            transport = self._routes[source] = self._world.network.transport(self._loop, _machine(source))
        return transport, Address(_machine(target), CONTROL_PORT)

    async def expire_session_server(self, node: int) -> int:
        if (session := self.session(node)) is None:
            raise EnvironmentFailure(f"node {node} has no session that could be closed")
        try:
            self._world.zookeeper.expire(session.session_id)
        except KeyError:
            raise EnvironmentFailure(f"the session of node {node} has ended already") from None
        return session.session_id

    def _exited(self, node: int, status: int) -> None:
        if not self._stopping:
            self._on_exit(node, status)

    async def stop(self) -> None:
        """Everything ends at once: a world needs no farewell."""
        self._stopping = True
        for node in self._nodes.values():
            if node.alive:
                node.kill()


def _machine(end: str) -> str:
    return f"node-{end}"


def _number(machine: str) -> int:
    return int(machine.removeprefix("node-"))


def _ignore(event: SessionEvent) -> None:
    """The harness reads what it wants to know."""
