"""The backend `process`: a real ZooKeeper, real node processes, and one proxy process that all links go through."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

from pytest_kcontroller.cluster.admin import AdminSession
from pytest_kcontroller.cluster.capabilities import HOLDS, REPORTS, NodeStatus
from pytest_kcontroller.cluster.children.processes import temporary_name
from pytest_kcontroller.cluster.contract import ZOOKEEPER, LinkState, NodeSession
from pytest_kcontroller.cluster.misuse import unknown_node
from pytest_kcontroller.cluster.observed import ClusterSettings, ObservedCluster, gather_all, status_of
from pytest_kcontroller.cluster.process.links import Links, delay_ms, is_cut
from pytest_kcontroller.cluster.process.node import NodeProcess, short_temporary
from pytest_kcontroller.cluster.process.session_relays import SessionRelays
from pytest_kcontroller.cluster.timing import scaled, stretched
from pytest_kcontroller.cluster.zookeeper.end_session import close_session
from pytest_kcontroller.cluster.zookeeper.server import ZooKeeper, four_letter_word
from pytest_kcontroller.cluster.zookeeper.source import start_zookeeper
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.node.settings import NodeSettings
from pytest_kcontroller.runtime.nursery import Nursery
from pytest_kcontroller.runtime.ports import Transport
from pytest_kcontroller.runtime.real import RunStart, SocketTransport
from pytest_kcontroller.zookeeper.session import ZkSession

T = TypeVar("T")

ANSWER_S = 2.0
"""A node that runs answers on its control socket within this time; one that does not counts as not answering."""


class ProcessCluster(ObservedCluster):
    """See contract.Cluster. Made by `start`; `stop` ends everything that it started."""

    offers = (HOLDS, REPORTS)

    def __init__(
        self, settings: ClusterSettings, directory: Path, start: RunStart, on_exit: Callable[[int, int], None] | None
    ) -> None:
        super().__init__(settings, directory.resolve())  # nodes work in directories of their own
        self.run_start = start
        self._on_exit = on_exit
        self._work = _new_directory()
        self._zookeeper: ZooKeeper | None = None
        self._relays: SessionRelays | None = None
        self._links: Links | None = None
        self._admin: AdminSession | None = None
        self._nodes: dict[int, NodeProcess] = {}
        self._watches: list[asyncio.Task[None]] = []
        self._failure: EnvironmentFailure | None = None
        """What nothing can be done without has ended by itself."""
        self._failing = asyncio.Event()
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
        self._watch("ZooKeeper has ended", "zookeeper.log", self._zookeeper.wait_ended())
        self._relays = await SessionRelays.start(
            self.nodes_to_start,
            self._zookeeper.address,
            directory=self._work,
            log=self.directory / "logs" / "session-relay.log",
        )
        self._watch("the relays to ZooKeeper have ended", "session-relay.log", self._relays.wait_ended())
        self._links = await Links.start(self._relays.addresses, log=self.directory / "logs" / "toxiproxy.log")
        self._watch("the proxies have ended", "toxiproxy.log", self._links.wait_ended())
        self._admin = await self.unless_failed(AdminSession.open(str(self._zookeeper.address)))
        for node in self.nodes_to_start:
            # ZooKeeper's supervisor cleans up too, but it has gone if ZooKeeper ended before we die.
            self._nodes[node] = NodeProcess(
                self._settings_of(node),
                self.directory,
                self._work / f"node-{node}",
                self._exited,
                cleanup=self._work,
            )
        await gather_all([self.restart(node) for node in self.nodes_to_start])

    def _watch(self, what: str, log: str, ended: Coroutine[Any, Any, str]) -> None:
        self._watches.append(asyncio.create_task(self._watch_end(what, log, ended), name=f"watch: {what}"))

    async def _watch_end(self, what: str, log: str, ended: Coroutine[Any, Any, str]) -> None:
        """What waits for something that has ended would wait for ever: our session is closed instead, and says why."""
        how = await ended
        if self._stopped or self._failure is not None:
            return
        self._failure = EnvironmentFailure(f"{what}: {how}", where=str(self.directory / "logs" / log))
        self._failing.set()
        if self._admin is not None:
            await self._admin.close()

    async def unless_failed(self, work: Coroutine[Any, Any, T]) -> T:
        """`work`, which is cancelled when something ends by itself that nothing can be done without (a node can). Raises
        EnvironmentFailure then."""
        async with Nursery() as tasks:
            tasks.start(self._raise_when_failed(), name="guard")
            return await work
        raise AssertionError("unreachable")

    async def _raise_when_failed(self) -> None:
        await self._failing.wait()
        self._check()

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
            plugin_limit_s=stretched(self.settings.plugin_limit_s),
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
            raise EnvironmentFailure("the cluster has no ZooKeeper session: it was not started, or has been stopped")
        self._check()
        return self._admin.session

    def _check(self) -> None:
        if self._failure is not None:
            raise EnvironmentFailure(self._failure.what, where=self._failure.where)

    async def renew_admin(self) -> None:
        self._check()
        assert self._admin is not None
        await self._admin.renew()

    @property
    def zookeeper(self) -> ZooKeeper:
        if self._zookeeper is None:
            raise EnvironmentFailure("the cluster has no ZooKeeper: it was not started, or has been stopped")
        return self._zookeeper

    @property
    def links(self) -> Links:
        if self._links is None:
            raise EnvironmentFailure("the cluster has no proxies: it was not started, or has been stopped")
        return self._links

    @property
    def relays(self) -> SessionRelays:
        if self._relays is None:
            raise EnvironmentFailure("the cluster has no relays: it was not started, or has been stopped")
        return self._relays

    def process(self, node: int) -> NodeProcess:
        if (found := self._nodes.get(node)) is None:
            raise unknown_node(node, self.nodes)
        return found

    # --- processes

    async def kill(self, node: int) -> int:
        return await self.process(node).kill(scaled(10))

    async def terminate(self, node: int) -> None:
        self.process(node).ask_to_end()

    async def stop_node(self, node: int) -> int:
        return await self.process(node).terminate(scaled(self.stop_s))

    async def restart(self, node: int) -> None:
        process = self.process(node)
        if not process.alive:
            self.relays.begin(node)
        await process.start(ready=self._registered)

    async def pause(self, node: int) -> None:
        await self.process(node).pause()

    async def resume(self, node: int) -> None:
        await self.process(node).resume()

    def process_state(self, node: int) -> str | None:
        return self.process(node).state()

    # --- Holds and Reports: what a node is told and answers on its control socket

    async def status(self, node: int) -> NodeStatus | None:
        answer = await self.process(node).ask("status", timeout_s=scaled(ANSWER_S))
        if answer is None:
            return None
        return status_of(node, answer)

    async def metadata(self, node: int) -> Mapping[str, Any] | None:
        answer = await self.process(node).ask("metadata", timeout_s=scaled(ANSWER_S))
        return None if answer is None else answer["metadata"]

    async def hold(self, node: int, point: str) -> None:
        await self._must(node, "hold", point=point)

    async def release(self, node: int, point: str) -> None:
        await self._must(node, "release", point=point)

    async def _must(self, node: int, command: str, **arguments: str) -> None:
        if await self.process(node).ask(command, timeout_s=scaled(ANSWER_S), **arguments) is None:
            raise EnvironmentFailure(f"node {node} does not answer")

    # --- links and sessions

    async def cut(self, source: str, target: str, plane: str) -> None:
        await self.links.cut(source, target, plane)

    async def heal(self, source: str, target: str, plane: str) -> None:
        await self.links.heal(source, target, plane)

    async def slow(self, source: str, target: str, plane: str, *, delay_ms: int) -> None:
        await self.links.slow(source, target, plane, latency_ms=delay_ms)

    async def link_state(self, source: str, target: str, plane: str) -> LinkState:
        toxics = await self.links.toxics(source, target, plane)
        return LinkState(cut=is_cut(toxics), delay_ms=delay_ms(toxics))

    async def reset(self, source: str, target: str, plane: str) -> None:
        await self.links.disable(source, target, plane)
        await self.links.enable(source, target, plane)

    def session(self, node: int) -> NodeSession | None:
        return self.relays.session(node) if self.process(node).alive else None

    def sessions(self, node: int) -> tuple[NodeSession, ...]:
        self.process(node)
        return self.relays.sessions(node)

    async def zookeeper_round_trip_us(self, node: int, *, limit_s: float) -> int | None:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        answer = await four_letter_word(self.links.address(str(node), ZOOKEEPER, "zk"), "srvr", limit_s)
        return round((loop.time() - began_s) * 1e6) if answer else None

    def route(self, source: str, target: str) -> tuple[Transport, Address]:
        return SocketTransport(), self.links.address(source, target, "control")

    async def expire_session_server(self, node: int) -> int:
        if (session := self.session(node)) is None:
            raise EnvironmentFailure(f"node {node} has no session that could be closed")
        await close_session(self.zookeeper.address, session.session_id, session.password, timeout_s=scaled(5))
        return session.session_id

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
            await gather_all([node.end(scaled(3)) for node in self._nodes.values()])
            for watch in self._watches:
                watch.cancel()
            if self._admin is not None:
                await self._admin.close()
        finally:
            try:
                if self._links is not None:
                    await self._links.stop()
                if self._relays is not None:
                    await self._relays.stop()
            finally:
                try:
                    if self._zookeeper is not None:
                        await self._zookeeper.stop()
                finally:
                    if self._zookeeper is not None and keep_log_in is not None:
                        self._zookeeper.take_log(keep_log_in)
                    shutil.rmtree(self._work, ignore_errors=True)


def _new_directory() -> Path:
    """Removed by `stop`, or by ZooKeeper's supervisor if we die; before that one runs, `kcontroller gc` finds it."""
    directory = short_temporary() / temporary_name()
    try:
        directory.mkdir(mode=0o700)
    except OSError as bad:
        raise EnvironmentFailure(f"no temporary directory could be made: {bad}", where=str(directory)) from None
    return directory
