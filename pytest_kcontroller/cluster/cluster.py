"""The backend `process`: a real ZooKeeper, real node processes, and one proxy process that all links go through."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

from pytest_kcontroller.cluster.admin import AdminSession
from pytest_kcontroller.cluster.api import ZOOKEEPER, NodeStatus
from pytest_kcontroller.cluster.duplicate import close_session
from pytest_kcontroller.cluster.links import Links
from pytest_kcontroller.cluster.node_process import NodeProcess, short_temporary
from pytest_kcontroller.cluster.processes import temporary_name
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.topics import assign, write_topic
from pytest_kcontroller.cluster.tree import Tree, read_tree, unconverged
from pytest_kcontroller.cluster.zookeeper import ZooKeeper
from pytest_kcontroller.cluster.zookeeper_source import start_zookeeper
from pytest_kcontroller.errors import EnvironmentError_
from pytest_kcontroller.node.settings import NodeSettings
from pytest_kcontroller.plugin_manager import load_plugins
from pytest_kcontroller.runtime.real import RunStart
from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.zookeeper.session import GetData, NoNodeError, SessionExpiredError, ZkSession
from pytest_kcontroller.zookeeper.znodes import CONTROLLER, decode_controller

T = TypeVar("T")

POLL_S = 0.02
"""How often a wait looks at the observed state."""
ANSWER_S = 2.0
"""A node that runs answers on its control socket within this time; one that does not counts as not answering."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """What a cluster is made of; the values mean what they mean in NodeSettings."""

    nodes: int = 3
    session_timeout_ms: int = 3000
    selectors: Mapping[str, Any] = field(default_factory=dict)
    assignment: Any = "striped"
    config: Mapping[str, Any] = field(default_factory=dict)
    plugins: tuple[str, ...] = ()
    mutant: str | None = None
    seed: int = 0
    zookeeper_image: str | None = None
    """ZooKeeper runs in a container of this image; None: in a JVM of ours."""


class ProcessCluster:
    """See api.Cluster. Made by `start`; `stop` ends everything that it started."""

    def __init__(
        self, settings: ClusterSettings, directory: Path, start: RunStart, on_exit: Callable[[int, int], None] | None
    ) -> None:
        self.settings = settings
        self.directory = directory.resolve()  # nodes work in directories of their own
        self.run_start = start
        self._on_exit = on_exit
        self._work = _new_directory()
        self._draw = NamedRng(settings.seed).stream("cluster/topics").randrange
        self._plugins = load_plugins(settings.plugins)
        self._zookeeper: ZooKeeper | None = None
        self._links: Links | None = None
        self._admin: AdminSession | None = None
        self._nodes: dict[int, NodeProcess] = {}
        self._stopped = False
        self._zookeeper_log: Path | None = None

    @classmethod
    async def start(
        cls,
        settings: ClusterSettings,
        directory: Path,
        *,
        run_start: RunStart | None = None,
        on_exit: Callable[[int, int], None] | None = None,
        zookeeper_log: Path | None = None,
    ) -> Self:
        """ZooKeeper, the proxies, then all nodes at once; returns when every node is registered.

        `directory` gets `history/` and `logs/`; `on_exit(node, status)` is called for every end of a node that is
        observed. ZooKeeper writes its transaction log below `zookeeper_log`, so that a run that is killed keeps its
        witness. Raises StartError; nothing is left running then, nor when the caller is cancelled.
        """
        cluster = cls(settings, directory, run_start or RunStart.now(), on_exit)
        cluster._zookeeper_log = zookeeper_log
        try:
            await cluster._start()
        except BaseException:
            await cluster.stop()
            raise
        return cluster

    async def _start(self) -> None:
        for name in ("history", "logs"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        self._zookeeper = await start_zookeeper(
            self.settings.zookeeper_image,
            self._work / "zookeeper",
            log=self.directory / "logs" / "zookeeper.log",
            cleanup=self._work,
            txn_log=self._zookeeper_log,
        )
        self._links = await Links.start(
            self.nodes_to_start, self._zookeeper.address, log=self.directory / "logs" / "toxiproxy.log"
        )
        self._admin = await AdminSession.open(str(self._zookeeper.address))
        for node in self.nodes_to_start:
            # ZooKeeper's supervisor cleans up too, but it has gone if ZooKeeper ended before we die.
            self._nodes[node] = NodeProcess(
                self._settings_of(node),
                self.directory,
                self._work / f"node-{node}",
                self._exited,
                cleanup=self._work,
            )
        await _all([self._nodes[node].start(ready=self._registered) for node in self.nodes_to_start])

    @property
    def nodes_to_start(self) -> tuple[int, ...]:
        return tuple(range(self.settings.nodes))

    def _settings_of(self, node: int) -> NodeSettings:
        assert self._zookeeper is not None and self._links is not None
        return NodeSettings(
            node_id=node,
            zookeeper=str(self._zookeeper.address),
            listen=self._links.listen(node),
            session_timeout_ms=self.settings.session_timeout_ms,
            selectors=self.settings.selectors,
            assignment=self.settings.assignment,
            config=self.settings.config,
            links=self._links.map_for(node),
            plugins=self.settings.plugins,
            mutant=self.settings.mutant,
            seed=self.settings.seed,
            run_start=self.run_start.encode(),
        )

    # --- what there is

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(sorted(self._nodes))

    @property
    def running(self) -> tuple[int, ...]:
        return tuple(node for node in self.nodes if self._nodes[node].alive)

    @property
    def admin(self) -> ZkSession:
        if self._admin is None:
            raise EnvironmentError_("the cluster has no ZooKeeper session: it was not started, or has been stopped")
        return self._admin.session

    @property
    def zookeeper(self) -> ZooKeeper:
        if self._zookeeper is None:
            raise EnvironmentError_("the cluster has no ZooKeeper: it was not started, or has been stopped")
        return self._zookeeper

    @property
    def links(self) -> Links:
        if self._links is None:
            raise EnvironmentError_("the cluster has no proxies: it was not started, or has been stopped")
        return self._links

    @property
    def session_timeout_ms(self) -> int:
        return self.settings.session_timeout_ms

    def process(self, node: int) -> NodeProcess:
        if (found := self._nodes.get(node)) is None:
            raise EnvironmentError_(f"there is no node {node}; there are: {', '.join(map(str, self.nodes))}")
        return found

    # --- processes

    async def kill(self, node: int) -> int:
        return await self.process(node).kill(scaled(10))

    async def stop_node(self, node: int) -> int:
        return await self.process(node).terminate(scaled(10))

    async def restart(self, node: int) -> None:
        await self.process(node).start(ready=self._registered)

    async def pause(self, node: int) -> None:
        self.process(node).pause()

    async def resume(self, node: int) -> None:
        self.process(node).resume()

    def process_state(self, node: int) -> str | None:
        return self.process(node).state()

    # --- what a node says and is told on its control socket

    async def status(self, node: int) -> NodeStatus | None:
        answer = await self.process(node).ask("status", timeout_s=scaled(ANSWER_S))
        if answer is None:
            return None
        return NodeStatus(
            node=node,
            active=bool(answer.get("active")),
            epoch=int(answer.get("epoch") or 0),
            session=_session(answer.get("session")),
            phase=str(answer.get("phase", "")),
            password=bytes.fromhex(answer.get("password") or ""),
            raw=answer,
        )

    async def metadata(self, node: int) -> object | None:
        return await self.process(node).ask("metadata", timeout_s=scaled(ANSWER_S))

    async def hold(self, node: int, point: str) -> None:
        await self._must(node, "hold", point=point)

    async def release(self, node: int, point: str) -> None:
        await self._must(node, "release", point=point)

    async def _must(self, node: int, command: str, **arguments: str) -> None:
        if await self.process(node).ask(command, timeout_s=scaled(ANSWER_S), **arguments) is None:
            raise EnvironmentError_(f"node {node} does not answer {command!r} on its control socket")

    # --- links and sessions

    async def cut(self, source: str, target: str, plane: str) -> None:
        await self.links.cut(source, target, plane)

    async def heal(self, source: str, target: str, plane: str) -> None:
        await self.links.heal(source, target, plane)

    async def expire_session_server(self, node: int) -> int:
        status = await self.status(node)
        if status is None or not status.session:
            raise EnvironmentError_(f"node {node} has no session that could be closed")
        await close_session(self.zookeeper.address, status.session, status.password, timeout_s=scaled(5))
        return status.session

    # --- topics

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int = 1,
        replication_factor: int = 1,
        assignment: Mapping[int, Sequence[int]] | None = None,
    ) -> None:
        """Replicas by `assignment`, or by the strategy of the settings on the registered brokers."""
        if assignment is None:
            strategy = self._plugins.assignments.make(self.settings.assignment)
            tree = await self.tree()
            assignment = assign(
                tree, strategy, self._draw, partitions=partitions, replication_factor=replication_factor
            )
        await write_topic(self.admin, name, assignment, self._draw)

    # --- waiting

    async def tree(self) -> Tree:
        return await self._with_admin(read_tree)

    async def controller(self) -> int | None:
        async def read(session: ZkSession) -> int | None:
            try:
                node = await session.submit(GetData(CONTROLLER))
            except NoNodeError:
                return None
            return decode_controller(getattr(node, "data", b""))

        return await self._with_admin(read)

    async def _with_admin(self, read: Callable[[ZkSession], Awaitable[T]]) -> T:
        """Reads in the harness's session, in a new one if it has ended: a busy host must not cost the harness its eyes."""
        while True:
            try:
                return await read(self.admin)
            except SessionExpiredError:
                assert self._admin is not None
                await self._admin.renew()

    async def wait_until(self, what: str, check: Callable[[], Awaitable[str | None]], *, timeout_s: float) -> None:
        why: str | None = "it was not looked at"
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    if (why := await check()) is None:
                        return
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            raise EnvironmentError_(f"not within {timeout_s:g} s: {what}: {why}", where=str(self.directory)) from None

    async def wait_for_controller(self, *, other_than: int | None = None, timeout_s: float) -> int:
        found: list[int] = []

        async def check() -> str | None:
            controller = await self.controller()
            if controller is None or controller == other_than:
                return f"/controller names {controller}"
            found.append(controller)
            return None

        await self.wait_until(
            "a controller is elected"
            if other_than is None
            else f"a controller other than node {other_than} is elected",
            check,
            timeout_s=timeout_s,
        )
        return found[-1]

    async def wait_until_converged(self, *, timeout_s: float) -> None:
        await self.wait_until("the cluster converges", self._unconverged, timeout_s=timeout_s)

    async def _unconverged(self) -> str | None:
        tree, running = await self.tree(), self.running
        statuses = await _all([self.status(node) for node in running])
        silent = [node for node, status in zip(running, statuses, strict=True) if status is None]
        if silent:
            return f"nodes that do not answer: {silent}"
        told = await _all([self.metadata(node) for node in running])
        answered = [status for status in statuses if status is not None]
        return unconverged(
            tree,
            {status.node: status.session for status in answered},
            {status.node: status.active for status in answered},
            dict(zip(running, told, strict=True)),
        )

    async def _registered(self, node: int) -> str | None:
        """What a node lacks to be ready, or None: it answers, and its session owns its registration."""
        status = await self.status(node)
        if status is None or not status.session:
            return "it has no ZooKeeper session yet" if status else "its control socket does not answer yet"
        try:
            found = await self.admin.submit(GetData(f"/brokers/ids/{node}"))
        except NoNodeError:
            return "it is not registered in /brokers/ids yet"
        owner = getattr(getattr(found, "stat", None), "ephemeral_owner", 0)
        return None if owner == status.session else "its registration belongs to an older session"

    def _exited(self, node: int, status: int) -> None:
        if self._on_exit is not None:
            self._on_exit(node, status)

    # --- the end

    async def stop(self, *, keep_log_in: Path | None = None) -> None:
        """Nodes first, then the proxies, then ZooKeeper, whose transaction log is exported to `keep_log_in`.

        Idempotent; goes on to the end when the caller is cancelled.
        """
        if self._stopped:
            return
        self._stopped = True
        ending = asyncio.ensure_future(self._stop(keep_log_in))
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:
            await ending
            raise

    async def _stop(self, keep_log_in: Path | None) -> None:
        try:
            await _all([node.end(scaled(3)) for node in self._nodes.values()])
            if self._admin is not None:
                await self._admin.close()
        finally:
            try:
                if self._links is not None:
                    await self._links.stop()
            finally:
                if self._zookeeper is not None:
                    await self._zookeeper.stop()
                    if keep_log_in is not None:
                        self._zookeeper.take_log(keep_log_in)
                shutil.rmtree(self._work, ignore_errors=True)


def _new_directory() -> Path:
    """Removed by `stop`, or by ZooKeeper's supervisor if we die; before that one runs, `kcontroller gc` finds it."""
    directory = short_temporary() / temporary_name()
    try:
        directory.mkdir(mode=0o700)
    except OSError as bad:
        raise EnvironmentError_(f"no temporary directory could be made: {bad}", where=str(directory)) from None
    return directory


def _session(value: object) -> int:
    """A session id as `0x...` or a number; 0 for none."""
    if isinstance(value, str):
        return int(value, 16) if value else 0
    return value if isinstance(value, int) else 0


async def _all(work: Sequence[Awaitable[Any]]) -> list[Any]:
    """Everything at once; the first failure in order is raised after all have ended."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        results = await asyncio.gather(*tasks, return_exceptions=True)
    except asyncio.CancelledError:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


__all__ = ["ZOOKEEPER", "ClusterSettings", "ProcessCluster"]
