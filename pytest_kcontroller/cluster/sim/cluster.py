"""The backend `sim`: nodes, network and ZooKeeper in virtual time, all of one seed. The nodes run their usual code."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pytest_kcontroller.broker.log_dir import CHECKPOINT, checkpointed, log_dir_names
from pytest_kcontroller.cluster.admin import TIMEOUT_MS
from pytest_kcontroller.cluster.capabilities import (
    BROKERS,
    CLOCKS,
    CRASH_POINTS,
    DISKS,
    HOLDS,
    OWN_CLOSE,
    PEERS,
    POWERS,
    REPORTS,
    SIZED_DISKS,
    NodeStatus,
)
from pytest_kcontroller.cluster.contract import ZOOKEEPER, LinkState, NodeSession
from pytest_kcontroller.cluster.misuse import (
    check_log_dir,
    failed_already,
    running_already,
    session_to_close,
    unknown_node,
)
from pytest_kcontroller.cluster.observed import ClusterSettings, ObservedCluster
from pytest_kcontroller.cluster.sim.node import SimNode
from pytest_kcontroller.cluster.timing import stretched
from pytest_kcontroller.errors import EnvironmentFailure, StartError
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.model.toxics import Toxic
from pytest_kcontroller.node.settings import NodeSettings
from pytest_kcontroller.plugin.manager import Plugins
from pytest_kcontroller.runtime.ports import Transport
from pytest_kcontroller.runtime.scheduler import SimLoop
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.sim.crash_points import WRITE, CrashPoints
from pytest_kcontroller.sim.link import Link
from pytest_kcontroller.sim.world import World
from pytest_kcontroller.sim.zookeeper.session import SimConnector
from pytest_kcontroller.zookeeper.session import SessionEvent, ZkSession

START_S = 30.0
CONTROL_PORT = 9092


class SimCluster(ObservedCluster):
    """See contract.Cluster. Its methods run in a process of the world (the harness's), as they wait in virtual time."""

    offers = (HOLDS, CRASH_POINTS, REPORTS, BROKERS, PEERS, OWN_CLOSE, DISKS, SIZED_DISKS, POWERS, CLOCKS)

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
            await cluster.wait_ready(node)
        return cluster

    def _settings_of(self, node: int) -> NodeSettings:
        return NodeSettings(
            node_id=node,
            zookeeper="zookeeper:2181",
            listen=f"node-{node}:{CONTROL_PORT}",
            session_timeout_ms=self.settings.session_timeout_ms,
            log_dirs=self.settings.log_dirs,
            selectors=self.settings.selectors,
            assignment=self.settings.assignment,
            config=self.settings.config,
            plugins=self.settings.plugins,
            plugin_limit_s=stretched(self.settings.plugin_limit_s),
            seed=self.settings.seed,
        )

    async def wait_ready(self, node: int) -> None:
        began_us = self._world.clock.now_us()

        async def check() -> str | None:
            return await self.unready(node) if self._nodes[node].alive else None

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

    async def add_node(self) -> int:
        node = self._new_node()
        self._nodes[node] = SimNode(self._world, self._settings_of(node), self._exited)
        self._nodes[node].start(self._plugins)
        await self.wait_ready(node)
        return node

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

    async def launch(self, node: int) -> None:
        if self._node(node).alive:
            raise running_already(node)
        self._node(node).start(self._plugins)

    async def restart(self, node: int) -> None:
        await self.launch(node)
        await self.wait_ready(node)

    async def pause(self, node: int) -> None:
        self._node(node).pause()

    async def resume(self, node: int) -> None:
        self._node(node).resume()

    def process_state(self, node: int) -> str | None:
        return self._node(node).state()

    async def status(self, node: int) -> NodeStatus | None:
        return self._node(node).report()

    async def caught_up(self, node: int) -> NodeStatus | None:
        return self._node(node).report(unheard=True)

    async def metadata(self, node: int) -> Mapping[str, Any] | None:
        return self._node(node).metadata()

    async def metrics(self, node: int) -> Mapping[str, Any] | None:
        return self._node(node).metrics()

    async def hold(self, node: int, point: str) -> None:
        self._node(node).runtime.holds.arm(point)

    async def release(self, node: int, point: str) -> None:
        self._node(node).runtime.holds.release(point)

    async def lose(self, node: int, point: str, count: int) -> None:
        self._node(node).runtime.holds.lose(point, count)

    async def reach(self, nodes: Sequence[int], point: str, count: int) -> int:
        machine = await self._crash_points.wait([self._node(node).machine for node in nodes], point, count)
        return _number(machine)

    async def close_session(self, node: int) -> None:
        self._node(node).close_session()

    def _freeze(self, machine: str, point: str, link: Link | None) -> None:
        node = self._node(_number(machine))
        if point == WRITE:
            node.freeze_write()
        else:
            node.freeze(link)

    async def thaw(self, node: int) -> None:
        self._node(node).thaw()

    async def jump(self, node: int, by_ms: int) -> None:
        self._node(node).runtime.clock.jump(by_ms)

    async def wall_ms(self, node: int) -> int | None:
        status = self._node(node).report()
        return None if status is None else int(status.raw["wall_ms"])

    # --- disks, and what ZooKeeper can be made to do

    def files(self, node: int) -> Mapping[str, int]:
        return self._world.disk(self._node(node).machine).files

    def wipe(self, node: int) -> None:
        self._world.disk(self._node(node).machine).wipe()

    def log_dirs_of(self, node: int) -> Mapping[str, Collection[str]]:
        disk = self._world.disk(self._node(node).machine)
        live = [name for name in log_dir_names(self.log_dirs) if not disk.has_failed(name)]
        kept = {name: disk.kept(f"{name}/{CHECKPOINT}" if name else CHECKPOINT) or b"" for name in live}
        return {name: [str(tp) for tp in checkpointed(data)] for name, data in kept.items()}

    def fail_log_dir(self, node: int, name: str) -> None:
        check_log_dir(node, name, log_dir_names(self.log_dirs))
        disk = self._world.disk(self._node(node).machine)
        if disk.has_failed(name):
            raise EnvironmentFailure(failed_already(name, node))
        disk.fail_directory(name)

    def mend_log_dir(self, node: int, name: str) -> None:
        check_log_dir(node, name, log_dir_names(self.log_dirs))
        self._world.disk(self._node(node).machine).mend_directory(name)

    async def fill_disk(self, node: int) -> None:
        self._world.disk(self._node(node).machine).fill()

    def free_disk(self, node: int) -> None:
        self._world.disk(self._node(node).machine).free()

    def take_back_write(self, node: int, *, torn: bool) -> str | None:
        return self._world.disk(self._node(node).machine).take_back(torn=torn)

    def delay_removal(self, delay_ms: int) -> None:
        self._world.zookeeper.removal_delay_us = delay_ms * 1000

    def lag(self, node: int, lag_ms: int) -> None:
        self._world.zookeeper.link(self._node(node).machine).follow(lag_ms * 1000)

    def lag_of(self, node: int) -> tuple[int, int]:
        follower = self._world.zookeeper.link(self._node(node).machine).follower
        return (0, 0) if follower is None else (follower.lag_us // 1000, follower.behind)

    # --- links and sessions

    async def impair(self, source: str, target: str, plane: str, toxic: Toxic) -> None:
        if ZOOKEEPER in (source, target):
            self._node(_end(source, target)).impair_zookeeper(toxic)
        else:
            self._link(source, target).impair(toxic)

    async def restore(self, source: str, target: str, plane: str, toxic: Toxic) -> None:
        if ZOOKEEPER in (source, target):
            self._node(_end(source, target)).restore_zookeeper(toxic)
        else:
            self._link(source, target).restore(toxic)

    async def link_state(self, source: str, target: str, plane: str) -> LinkState:
        if ZOOKEEPER in (source, target):
            return LinkState(toxics=self._world.zookeeper.link(_machine(str(_end(source, target)))).toxics)
        return LinkState(toxics=self._link(source, target).toxics)

    def _link(self, source: str, target: str) -> Link:
        return self._world.network.link(_machine(source), _machine(target))

    def session(self, node: int) -> NodeSession | None:
        return self._node(node).session

    def sessions(self, node: int) -> tuple[NodeSession, ...]:
        return self._node(node).sessions

    async def zookeeper_round_trip_us(self, node: int, *, limit_s: float) -> int | None:
        try:
            async with within(limit_s):
                return await self._world.zookeeper.link(self._node(node).machine).round_trip_us(self._loop)
        except TimeoutError:
            return None

    async def reset(self, source: str, target: str, plane: str) -> None:
        if ZOOKEEPER in (source, target):
            self._world.zookeeper.link(_machine(str(_end(source, target)))).reset()
        else:
            link = self._link(source, target)
            link.disable()
            link.enable()

    def route(self, source: str, target: str) -> tuple[Transport, Address]:
        if (transport := self._routes.get(source)) is None:
            transport = self._routes[source] = self._world.network.transport(self._loop, _machine(source))
        return transport, Address(_machine(target), CONTROL_PORT)

    async def expire_session_server(self, node: int, session_id: int | None = None) -> int:
        session = session_to_close(node, self.session(node), self.sessions(node), session_id)
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


def _end(source: str, target: str) -> int:
    """The node of a link to ZooKeeper."""
    return int(source if target == ZOOKEEPER else target)


def _machine(end: str) -> str:
    return f"node-{end}"


def _number(machine: str) -> int:
    return int(machine.removeprefix("node-"))


def _ignore(event: SessionEvent) -> None:
    """The harness reads what it wants to know."""
