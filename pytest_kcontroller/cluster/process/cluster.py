"""The backend `process`: a real ZooKeeper, real node processes, and one proxy process that all links go through."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from pytest_kcontroller.cluster.admin import AdminSession
from pytest_kcontroller.cluster.capabilities import (
    BROKERS,
    CLOCKS,
    HOLDS,
    OF_PROGRAMS,
    OWN_CLOSE,
    PEERS,
    REPORTS,
    Capability,
)
from pytest_kcontroller.cluster.children.directories import new_directory
from pytest_kcontroller.cluster.children.processes import expect_ours
from pytest_kcontroller.cluster.contract import CLIENT, LinkState, NodeSession
from pytest_kcontroller.cluster.ending import end_all
from pytest_kcontroller.cluster.misuse import unknown_node
from pytest_kcontroller.cluster.observed import MOST_ADDED, ClusterSettings, ObservedCluster, gather_all
from pytest_kcontroller.cluster.process.ground import Choices, Ground, Grounds, choices_now
from pytest_kcontroller.cluster.process.inside import ANSWER_S, NodesInside
from pytest_kcontroller.cluster.process.links import Links
from pytest_kcontroller.cluster.process.node import NodeProcess, SupervisedNode, short_temporary
from pytest_kcontroller.cluster.process.session_relays import SessionRelays
from pytest_kcontroller.cluster.process.zookeepers import OwnZooKeepers
from pytest_kcontroller.cluster.timing import scaled, stretched
from pytest_kcontroller.cluster.zookeeper.ensemble import Ensemble
from pytest_kcontroller.cluster.zookeeper.server import SUPERUSER, LogPlace, four_letter_word
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.model.toxics import Toxic
from pytest_kcontroller.node.settings import NodeSettings
from pytest_kcontroller.runtime.nursery import Nursery
from pytest_kcontroller.runtime.ports import Transport
from pytest_kcontroller.runtime.real import RunStart, SocketTransport
from pytest_kcontroller.zookeeper.session import ZkSession

T = TypeVar("T")

TELL_S = 10.0
USUAL_NODES = 5
"""There are relays for so many at least."""


class ProcessCluster(NodesInside, OwnZooKeepers, ObservedCluster):
    """See contract.Cluster. Made by `start`; `stop` ends everything that it started."""

    offers: ClassVar[tuple[Capability[object], ...]] = (HOLDS, REPORTS, BROKERS, PEERS, OWN_CLOSE, CLOCKS, *OF_PROGRAMS)
    forks = True
    """What it starts of ours are forks of one that has imported all."""
    by_name = False
    """Its nodes know each other by names that each of them resolves for itself (Links)."""
    relays_peers = False
    """A relay stands before each of its nodes on the links between them (Links)."""

    def __init__(
        self, settings: ClusterSettings, directory: Path, start: RunStart, on_exit: Callable[[int, int], None] | None
    ) -> None:
        super().__init__(settings, directory.resolve())  # nodes work in directories of their own
        self.run_start = start
        self._on_exit = on_exit
        self._work = new_directory(short_temporary())
        self._zookeeper: Ensemble | None = None
        self._relays: SessionRelays | None = None
        self._links: Links | None = None
        self._admin: AdminSession | None = None
        self._nodes: dict[int, SupervisedNode] = {}
        self._joining = asyncio.Lock()
        self._watches: list[asyncio.Task[None]] = []
        self._failure: EnvironmentFailure | None = None
        """What nothing can be done without has ended by itself."""
        self.told = False
        """Somebody who wanted something was told of that."""
        self._failing = asyncio.Event()
        self._stopped = False
        self._zookeeper_log: Path | None = None
        self._grounds: Grounds | None = None
        self._ground: Ground | None = None
        self._choices: Choices = {}
        """What this cluster has taken over."""
        self._handed_on = False

    @classmethod
    async def start(
        cls,
        settings: ClusterSettings,
        directory: Path,
        *,
        run_start: RunStart | None = None,
        on_exit: Callable[[int, int], None] | None = None,
        zookeeper_log: Path | None = None,
        grounds: Grounds | None = None,
    ) -> Self:
        """ZooKeeper, the proxies, then all nodes at once; returns when every node is registered.

        `directory` gets `history/` and `logs/`; `on_exit(node, status)` is called for every end of a node that is
        observed. ZooKeeper writes its transaction log below `zookeeper_log`, so that a run that is killed keeps its
        witness. With `grounds`, all but the nodes may be taken over from a cluster that has ended, and is handed on. Raises
        StartError; nothing is left running then, nor when the caller is cancelled.
        """
        cluster = cls(settings, directory, run_start or RunStart.now(), on_exit)
        cluster._zookeeper_log, cluster._grounds = zookeeper_log, grounds
        try:
            await cluster._start()
        except BaseException:
            await cluster.stop()
            raise
        return cluster

    async def _start(self) -> None:
        for name in ("history", "logs"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        if self.forks:
            expect_ours()
        if self._grounds is not None and (ground := await self._grounds.take(self.settings)) is not None:
            await self._take_over(ground)
        else:
            await self._start_ground()
        self._admin = await self.unless_failed(AdminSession.open(await self.open_ways(), SUPERUSER))
        for node in self.nodes_to_start:
            self._nodes[node] = self._new_process(node)
        await self.unless_failed(self._start_nodes())

    async def _start_nodes(self) -> None:
        """All at once. Raises StartError when the first of them fails: what the others say then may be its consequence."""
        async with Nursery() as tasks:
            for one in [tasks.start(self.restart(node), name=f"start {node}") for node in self.nodes_to_start]:
                await one

    async def _start_ground(self) -> None:
        """What the nodes stand on."""
        self._choices = choices_now()
        await self._start_zookeeper_and_links()
        self._watch_ground()

    async def _start_zookeeper_and_links(self) -> None:
        self._zookeeper = await Ensemble.start(
            self.settings.zookeeper,
            self.settings.zookeeper_image,
            self._work / "zookeeper",
            logs=self.directory / "logs",
            txn_log=self._zookeeper_log,
        )
        servers, log = self._zookeeper.connect_string, self.directory / "logs" / "session-relay.log"
        self._relays = await SessionRelays.start(self.relayed, servers, directory=self._work, log=log)
        ends = {node: self._relays.addresses[node] for node in self.nodes_to_start}
        log = self.directory / "logs" / "toxiproxy.log"
        self._links = await Links.start(
            ends, log=log, seed=self.settings.seed, by_name=self.by_name, relayed=self.relays_peers
        )

    @property
    def relayed(self) -> range:
        """The nodes that there is a relay for; those that nobody uses cost a port."""
        return range(max(self.settings.nodes, USUAL_NODES) + MOST_ADDED)

    async def _take_over(self, ground: Ground) -> None:
        shutil.rmtree(self._work)
        self._ground, self._work = ground, ground.work
        self._zookeeper, self._relays, self._links = ground.zookeeper, ground.relays, ground.links
        self._watch_ground()
        await self._links.draw_from(self.settings.seed)
        await self._links.use({node: self._relays.addresses[node] for node in self.nodes_to_start})

    def _watch_ground(self) -> None:
        for server in self.zookeeper.servers.values():
            self._watch("ZooKeeper has ended", server.log.name, server.wait_ended())
        self._watch("the relays to ZooKeeper have ended", "session-relay.log", self.relays.wait_ended())
        self._watch("the proxies have ended", "toxiproxy.log", self.links.wait_ended())

    def end_when_stopped(self) -> None:
        """From now on a ZooKeeper that somebody else stops is one that has ended."""
        self._watch("ZooKeeper was stopped", self.zookeeper.servers[1].log.name, self.wait_stopped())

    def _new_process(self, node: int) -> SupervisedNode:
        """Not started yet."""
        work = self._work / f"node-{node}"
        return NodeProcess(self._settings_of(node), self.directory, work, self._exited)

    def _watch(self, what: str, log: str, ended: Coroutine[Any, Any, str]) -> None:
        self._watches.append(asyncio.create_task(self._watch_end(what, log, ended), name=f"watch: {what}"))

    async def _watch_end(self, what: str, log: str, ended: Coroutine[Any, Any, str]) -> None:
        """What waits for something that has ended would wait for ever: our session is closed instead, and says why."""
        how = await ended
        try:
            self.export_logs()
        finally:  # the disk may be full
            if self._fail(f"{what}: {how}", self.directory / "logs" / log) and self._admin is not None:
                await self._admin.close()

    def _fail(self, what: str, where: Path) -> bool:
        """Nothing can be done any more; whether this is why."""
        if self._stopped or self._failure is not None:
            return False
        self._failure = EnvironmentFailure(what, where=str(where))
        self._failing.set()
        return True

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
        return NodeSettings(
            node_id=node,
            zookeeper=",".join(map(str, self.links.to_zookeeper(node))),
            listen=self.links.listen(node),
            session_timeout_ms=self.settings.session_timeout_ms,
            log_dirs=self.settings.log_dirs,
            selectors=self.settings.selectors,
            assignment=self.settings.assignment,
            config=self.settings.config,
            links=self.links.map_for(node),
            plugins=self.settings.plugins,
            plugin_limit_s=stretched(self.settings.plugin_limit_s),
            mutant=self.settings.mutant,
            kafka_compat=tuple(self.settings.kafka_compat),
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

    @property
    def lost(self) -> EnvironmentFailure | None:
        """Why there is nothing to work with; None: there is."""
        if self._failure is None and self._zookeeper is not None and not self._stopped:
            for server in self._zookeeper.servers.values():
                if (state := server.process_state()) in ("T", None):
                    how = "has ended" if state is None else "was stopped, and stands still"
                    return EnvironmentFailure(f"ZooKeeper {how}", where=str(server.log))
        return self._failure

    def _check(self) -> None:
        if self._failure is not None:
            self.told = True
            raise EnvironmentFailure(self._failure.what, where=self._failure.where)

    @property
    def harness_sessions(self) -> tuple[int, ...]:
        """See capabilities.ZooKeepers."""
        return () if self._admin is None else tuple(self._admin.ids)

    async def renew_admin(self) -> None:
        self._check()
        assert self._admin is not None
        await self._admin.renew()

    @property
    def zookeeper(self) -> Ensemble:
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

    def process(self, node: int) -> SupervisedNode:
        if (found := self._nodes.get(node)) is None:
            raise unknown_node(node, self.nodes)
        return found

    # --- processes

    async def add_node(self) -> int:
        """One after the other: each has an id of its own, and those that joined before learn of it."""
        async with self._joining:
            node = self._new_node()
            await self.links.add(node, self.relays.addresses[node])
            await self._introduce(node)
            self._nodes[node] = self._new_process(node)
            await self.restart(node)
            return node

    async def _introduce(self, node: int) -> None:
        """Those that are there learn how they reach one that joins."""
        for process in self._nodes.values():
            if isinstance(process, NodeProcess):
                process.links = self.links.map_for(process.node)
        await gather_all([self._tell_of(node, other) for other in self.running])

    async def _tell_of(self, node: int, other: int) -> None:
        """One that starts at this moment answers when it does, and has been started with the links perhaps."""
        for plane, link in self.links.towards(other, node).items():
            told = partial(self.process(other).ask, "link", timeout_s=scaled(ANSWER_S), node=str(node), plane=plane)

            async def check(told: Callable[..., Awaitable[Any]] = told, address: str = str(link)) -> str | None:
                gone = not self.process(other).alive
                return None if gone or await told(address=address) is not None else "it does not answer"

            await self.wait_until(f"node {other} is told of node {node}", check, timeout_s=scaled(TELL_S))

    async def kill(self, node: int) -> int:
        return await self.process(node).kill(scaled(10))

    async def terminate(self, node: int) -> None:
        self.process(node).ask_to_end()

    async def stop_node(self, node: int) -> int:
        return await self.process(node).terminate(scaled(self.stop_s))

    async def launch(self, node: int) -> None:
        process = self.process(node)
        if not process.alive:
            self.relays.begin(node)
        await process.launch()

    async def wait_ready(self, node: int) -> None:
        await self.process(node).wait_ready(self.unready)

    async def restart(self, node: int) -> None:
        await self.launch(node)
        await self.wait_ready(node)

    async def pause(self, node: int) -> None:
        await self.process(node).pause()

    async def resume(self, node: int) -> None:
        await self.process(node).resume()

    def process_state(self, node: int) -> str | None:
        return self.process(node).state()

    # --- links and sessions

    async def impair(self, source: str, target: str, plane: str, toxic: Toxic) -> None:
        await self.links.impair(source, target, plane, toxic)

    async def restore(self, source: str, target: str, plane: str, toxic: Toxic) -> None:
        await self.links.restore(source, target, plane, toxic)

    async def heal(self, source: str, target: str, plane: str) -> None:
        await self.links.heal(source, target, plane)

    async def link_state(self, source: str, target: str, plane: str) -> LinkState:
        return LinkState(toxics=await self.links.in_force(source, target, plane))

    async def reset(self, source: str, target: str, plane: str) -> None:
        await self.links.reset(source, target, plane)

    def session(self, node: int) -> NodeSession | None:
        return self.relays.session(node) if self.process(node).alive else None

    def sessions(self, node: int) -> tuple[NodeSession, ...]:
        self.process(node)
        return self.relays.sessions(node)

    async def zookeeper_round_trip_us(self, node: int, *, limit_s: float) -> int | None:
        loop = asyncio.get_running_loop()

        async def asked(proxy: Address) -> int | None:
            began_s = loop.time()
            answer = await four_letter_word(proxy, "srvr", limit_s)
            return round((loop.time() - began_s) * 1e6) if answer else None

        trips = await gather_all([asked(proxy) for proxy in self.links.to_zookeeper(node)])
        return min((trip for trip in trips if trip is not None), default=None)

    def route(self, source: str, target: str) -> tuple[Transport, Address]:
        return SocketTransport(), self.links.address(source, target, "control")

    def zookeeper_route(self, node: int) -> tuple[Transport, Address]:
        """See capabilities.ZooKeeperBytes."""
        return SocketTransport(), self.links.to_zookeeper(node)[0]

    def client_address(self, node: int) -> Address:
        """See capabilities.Clients."""
        return self.links.address(CLIENT, str(node), "client")

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
        """Raises what could not be ended; all the others have been."""
        await end_all(
            [partial(node.end, scaled(3)) for node in self._nodes.values()],
            [self._watch_no_more],
            [self._admin.close] if self._admin is not None else [],
            [self.close_ways],
            [partial(self._end_ground, keep_log_in)],
        )

    async def _watch_no_more(self) -> None:
        for watch in self._watches:
            watch.cancel()

    async def _end_ground(self, keep_log_in: Path | None) -> None:
        """Hands it on, if somebody takes it and it is as new; else it ends."""
        try:
            self.export_logs()
            if keep_log_in is not None and self._zookeeper is not None:
                self.export_log(keep_log_in)
            self._handed_on = await self._hand_on()
        finally:
            if not self._handed_on:
                await end_all(
                    [self._links.stop] if self._links is not None else [],
                    [self._relays.stop] if self._relays is not None else [],
                    [self._zookeeper.stop] if self._zookeeper is not None else [],
                    [partial(self._clear, keep_log_in)],
                )

    async def _hand_on(self) -> bool:
        """Whether it is somebody else's now: nothing that is asked of this cluster from then on is about it."""
        started = self._zookeeper is not None and self._relays is not None and self._links is not None
        if self._grounds is None or not started:
            return False
        made_of = (self.settings.zookeeper_image, self._choices, self.zookeeper, self.relays, self.links, self._work)
        if not await self._grounds.give(self._ground or Ground(*made_of), self.directory / "logs"):
            return False
        self._ground = self._zookeeper = self._relays = self._links = None
        return True

    def export_log(self, to: Path) -> None:
        """ZooKeeper's transaction log, of this cluster's time; what others stand on now was exported at its end."""
        if not self._handed_on:
            self.zookeeper.export_log(to, self.log_since)

    @property
    def log_since(self) -> LogPlace | None:
        """Where in ZooKeeper's transaction log this cluster begins; None: with the log."""
        return None if self._ground is None else self._ground.since

    def export_logs(self) -> None:
        """Those of what was taken over are in `directory` too, as they are now."""
        if self._ground is not None:
            self._ground.export_logs(self.directory / "logs")

    async def _clear(self, keep_log_in: Path | None) -> None:
        try:
            if self._zookeeper is not None and keep_log_in is not None and self._ground is None:
                self._zookeeper.take_log(keep_log_in)
        finally:
            shutil.rmtree(self._work, ignore_errors=True)
