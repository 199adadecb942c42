"""What every backend's cluster does in the same way: topics, and waits for what is observed.

It sees a cluster as contract.py says: nodes by their processes and links, the rest by ZooKeeper. What nodes of
ours report is asked for besides, where they do.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

from pytest_kcontroller.broker.shutdown import ShutdownLimits
from pytest_kcontroller.cluster.capabilities import BROKERS, REPORTS, Capability
from pytest_kcontroller.cluster.contract import REQUEST_S, LinkState, NodeSession
from pytest_kcontroller.cluster.owners import around, read_owner
from pytest_kcontroller.cluster.program import Program
from pytest_kcontroller.cluster.reports import still_to_do
from pytest_kcontroller.cluster.timing import scaled, stretched
from pytest_kcontroller.cluster.topics import (
    added_to,
    check_added,
    check_topic,
    extend_topic,
    read_topic,
    write_topic,
)
from pytest_kcontroller.cluster.tree import Tree, read_leader, read_tree, reported_otherwise, unsettled
from pytest_kcontroller.errors import EnvironmentFailure, NotOnThisBackend, UsageError, WaitTimeoutError
from pytest_kcontroller.model.assignment import AssignableBroker, AssignmentRequest
from pytest_kcontroller.model.cluster import Address, TopicPartition
from pytest_kcontroller.model.history import StrategyBadAnswer
from pytest_kcontroller.model.kafka_config import REPLICA_CHECKPOINT_INTERVAL_MS
from pytest_kcontroller.model.toxics import Direction, Toxic, cut_toxics, slow_toxics
from pytest_kcontroller.plugin.manager import Plugins, load_plugins
from pytest_kcontroller.runtime.foreign import LIMIT_S
from pytest_kcontroller.runtime.ports import ConnectionClosedError, Transport
from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.wire.client import RequestClient
from pytest_kcontroller.wire.message import Request, Response
from pytest_kcontroller.zookeeper.session import (
    ConnectionLossError,
    GetData,
    NoNodeError,
    SessionExpiredError,
    ZkSession,
)
from pytest_kcontroller.zookeeper.znodes import CONTROLLER, broker_path, decode_controller

T = TypeVar("T")
R = TypeVar("R", bound=Response)

CLOSE_S = 5.0
"""A node that has been relieved closes its session and ends, on a busy host too."""
ANSWER_S = 40.0
"""ZooKeeper answers within this time; longer than the harness's own session lives without it."""
MOST_ADDED = 8
"""So many nodes can join a running cluster."""
POLL_S = 0.02
"""How often a wait looks at the observed state."""
FIRST_LOOK_S = 5.0
"""A shorter wait looks once all the same, if that takes no longer: on a busy machine it would end without a look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """What a cluster is made of; the values mean what they mean in NodeSettings."""

    nodes: int = 3
    log_dirs: int = 1
    session_timeout_ms: int = 3000
    selectors: Mapping[str, Any] = field(default_factory=dict)
    assignment: Any = "striped"
    config: Mapping[str, Any] = field(default_factory=dict)
    plugins: tuple[str, ...] = ()
    plugin_limit_s: float = LIMIT_S
    """Not stretched yet: timing.stretched."""
    mutant: str | None = None
    kafka_compat: tuple[str, ...] = ()
    seed: int = 0
    zookeeper: int = 1
    """How many servers it has: 1, or 3 that elect a leader (cluster.zookeeper.SIZES)."""
    program: Program | None = None
    """What its nodes are; None: nodes of ours."""
    zookeeper_image: str | None = None
    """ZooKeeper runs in a container of this image; None: in a JVM of ours."""


class ObservedCluster(ABC):
    """The part of contract.Cluster that needs no process, socket or file. `directory` is where a person looks for more,
    `plugins` those of the settings, if they have been loaded already."""

    def __init__(self, settings: ClusterSettings, directory: Path, plugins: Plugins | None = None) -> None:
        self.settings, self.directory = settings, directory
        self._draw = NamedRng(settings.seed).stream("cluster/topics").randrange
        self._plugins = plugins or load_plugins(settings.plugins)
        self._assigner = self._plugins.assigner(
            settings.assignment, self._draw, limit_s=stretched(settings.plugin_limit_s)
        )
        """It did not answer in time: it is not asked again."""

    @property
    @abstractmethod
    def nodes(self) -> tuple[int, ...]:
        """See contract.Cluster."""

    @property
    @abstractmethod
    def running(self) -> tuple[int, ...]:
        """See contract.Cluster."""

    @property
    @abstractmethod
    def admin(self) -> ZkSession:
        """See contract.Cluster."""

    @abstractmethod
    async def renew_admin(self) -> None:
        """A new `admin`, once the old one's session has ended."""

    @abstractmethod
    def route(self, source: str, target: str) -> tuple[Transport, Address]:
        """See contract.Links."""

    @abstractmethod
    async def impair(self, source: str, target: str, plane: str, toxic: Toxic) -> None:
        """See contract.Links."""

    @abstractmethod
    async def restore(self, source: str, target: str, plane: str, toxic: Toxic) -> None:
        """See contract.Links."""

    @abstractmethod
    async def link_state(self, source: str, target: str, plane: str) -> LinkState:
        """See contract.Links."""

    @abstractmethod
    def process_state(self, node: int) -> str | None:
        """See contract.Processes."""

    @abstractmethod
    def session(self, node: int) -> NodeSession | None:
        """See contract.Sessions."""

    offers: ClassVar[tuple[Capability[object], ...]] = ()
    """The capabilities that the class has besides what every cluster has: it is their Holds, CrashPoints, Reports."""

    def has(self, wanted: Capability[object]) -> bool:
        return wanted in self.offers

    def capability(self, wanted: Capability[T]) -> T:
        """See contract.Cluster."""
        if not self.has(wanted):
            raise NotOnThisBackend(f"this backend has no {wanted}")
        return cast(T, self)

    @property
    def session_timeout_ms(self) -> int:
        return self.settings.session_timeout_ms

    @property
    def fallen(self) -> tuple[int, ...]:
        """See contract.Cluster."""
        return ()

    @property
    def ready_s(self) -> float:
        """See contract.Cluster."""
        return 0.0

    @property
    def stop_s(self) -> float:
        """See contract.Cluster."""
        limits = ShutdownLimits.of(self.settings.config)
        return CLOSE_S + (0 if limits is None else limits.longest_us / 1e6)

    @property
    def checkpoint_s(self) -> float:
        """See contract.Cluster."""
        return REPLICA_CHECKPOINT_INTERVAL_MS.of(self.settings.config) / 1000

    @property
    def log_dirs(self) -> int:
        """See contract.Cluster."""
        return self.settings.log_dirs

    @property
    def stop_statuses(self) -> tuple[int, ...]:
        """See contract.Cluster."""
        return (0,)

    @property
    def refused_statuses(self) -> tuple[int, ...]:
        """See contract.Cluster."""
        return ()

    def _new_node(self) -> int:
        """The id of a further one. Raises UsageError."""
        if paused := [node for node in self.running if self.process_state(node) == "T"]:
            raise UsageError(f"node {paused[0]} is paused, so it cannot be told of a new node", hint="resume it first")
        if len(self.nodes) >= self.settings.nodes + MOST_ADDED:
            raise UsageError(f"{MOST_ADDED} nodes have joined already", hint="start the cluster with more of them")
        return max(self.nodes) + 1

    # --- links

    async def cut(self, source: str, target: str, plane: str, *, direction: Direction = "both") -> None:
        """See contract.Links."""
        for toxic in cut_toxics(direction):
            await self.impair(source, target, plane, toxic)

    async def slow(
        self, source: str, target: str, plane: str, *, delay_ms: int, jitter_ms: int = 0, direction: Direction = "both"
    ) -> None:
        """See contract.Links."""
        for toxic in slow_toxics(delay_ms, jitter_ms, direction):
            await (self.impair if delay_ms or jitter_ms else self.restore)(source, target, plane, toxic)

    async def heal(self, source: str, target: str, plane: str) -> None:
        """See contract.Links."""
        for toxic in (await self.link_state(source, target, plane)).toxics:
            await self.restore(source, target, plane, toxic)

    # --- topics

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int = 1,
        replication_factor: int = 1,
        assignment: Mapping[int, Sequence[int]] | None = None,
        topic_id: bool = True,
    ) -> StrategyBadAnswer | None:
        """Replicas by `assignment`, or by the strategy of the settings on the registered brokers."""
        check_topic(name, partitions, replication_factor, assignment, self.nodes)
        bad_answer = None
        if assignment is None:
            request = AssignmentRequest(
                brokers=await self._brokers(), partitions=partitions, replication_factor=replication_factor
            )
            assignment, bad_answer = self._assigned(name, request)
        made = partial(write_topic, name=name, assignment=assignment, draw=self._draw, topic_id=topic_id)
        await self.write(f"the topic {name!r} was created", made)
        return bad_answer

    async def add_partitions(
        self, name: str, *, partitions: int = 1, assignment: Mapping[int, Sequence[int]] | None = None
    ) -> StrategyBadAnswer | None:
        """See contract.Coordination."""
        bad_answer, brokers = None, await self._brokers()
        topic, version = await self.write("a topic was read", partial(read_topic, name=name))
        if assignment is None:
            assignment, bad_answer = self._assigned(name, added_to(topic, brokers, partitions))
        check_added(topic, assignment, self.nodes)
        added = partial(extend_topic, topic=topic, version=version, assignment=assignment)
        await self.write(f"partitions were added to the topic {name!r}", added)
        return bad_answer

    async def write(self, what: str, work: Callable[[ZkSession], Awaitable[T]]) -> T:
        """See contract.Coordination."""
        try:
            return await self._answered(work(self.admin), f" while {what}")
        except ConnectionLossError:
            raise EnvironmentFailure(f"the connection broke while {what}") from None
        except SessionExpiredError:
            await self.renew_admin()
            raise EnvironmentFailure(f"the harness's session ended while {what}") from None

    async def ask_controller(self, message: Request[R]) -> R:
        """See contract.Coordination."""
        if (controller := await self.controller()) is None:
            raise UsageError("there is no controller now", hint="wait_for_controller() first")
        transport, address = self.route(str(controller), str(controller))
        client = RequestClient(transport, address, client_id="admin")
        try:
            return await client.request(message, timeout_us=round(scaled(REQUEST_S) * 1e6))
        except ConnectionClosedError as broken:
            raise EnvironmentFailure(f"the controller, node {controller}, gave no answer: {broken}") from None
        finally:
            client.close()

    async def _brokers(self) -> tuple[AssignableBroker, ...]:
        """Those that are registered."""
        tree = await self.tree()
        return tuple(AssignableBroker(broker.id, broker.rack) for _, broker in sorted(tree.brokers.items()))

    def _assigned(
        self, topic: str, request: AssignmentRequest
    ) -> tuple[Mapping[int, Sequence[int]], StrategyBadAnswer | None]:
        assigned = self._assigner.assign(request)
        if assigned.bad_answer is None:
            return assigned.replicas, None
        return assigned.replicas, StrategyBadAnswer(plugin=assigned.by, topic=topic, why=assigned.bad_answer)

    # --- waiting

    async def tree(self) -> Tree:
        return await self._with_admin(read_tree)

    async def leader(self, partition: TopicPartition) -> int | None:
        return await self._with_admin(lambda session: read_leader(session, partition))

    async def controller(self) -> int | None:
        async def read(session: ZkSession) -> int | None:
            try:
                node = await session.submit(GetData(CONTROLLER))
            except NoNodeError:
                return None
            return decode_controller(getattr(node, "data", b""))

        return await self._with_admin(read)

    async def _with_admin(self, read: Callable[[ZkSession], Awaitable[T]]) -> T:
        """Reads in the harness's session, in a new one if it has ended: a busy host must not cost the harness its eyes.
        Raises EnvironmentFailure."""

        async def answer() -> T:
            while True:
                try:
                    return await read(self.admin)
                except SessionExpiredError:
                    await self.renew_admin()
                except ConnectionLossError:
                    await asyncio.sleep(POLL_S)  # it reconnects, or `admin` says that there is nobody any more

        return await self._answered(answer())

    async def _answered(self, work: Awaitable[T], meanwhile: str = "") -> T:
        """Raises EnvironmentFailure if ZooKeeper does not answer for so long that it cannot be the host: what is submitted
        without a connection waits for one."""
        limit = within(scaled(ANSWER_S))
        try:
            async with limit:
                return await work
        except TimeoutError:
            if not limit.expired():
                raise
            what = f"ZooKeeper has not answered for {scaled(ANSWER_S):g} s{meanwhile}: was it stopped?"
            hint = "what was asked for may still be done once it answers" if meanwhile else ""
            raise EnvironmentFailure(what, where=str(self.directory / "logs"), hint=hint) from None

    async def broker_owner(self, node: int) -> int:
        """The session that owns the node's registration; 0: it is not registered."""

        async def read(session: ZkSession) -> int:
            try:
                found = await session.submit(GetData(broker_path(node)))
            except NoNodeError:
                return 0
            return int(getattr(getattr(found, "stat", None), "ephemeral_owner", 0))

        return await self._with_admin(read)

    async def owner_of(self, path: str) -> int:
        """See contract.Coordination."""
        return await self._with_admin(lambda session: read_owner(session, path))

    async def around(self, path: str) -> str:
        """See contract.Coordination."""
        return await self._with_admin(lambda session: around(session, path))

    def said_otherwise(self, node: int) -> str:
        """See contract.Coordination."""
        return ""

    async def hear_out(self) -> None:  # noqa: B027 - nodes of ours print nothing
        """See contract.Coordination."""

    async def wait_until(self, what: str, check: Callable[[], Awaitable[str | None]], *, timeout_s: float) -> None:
        why: str | None = "it was not looked at"
        ends = asyncio.get_running_loop().time() + timeout_s
        try:
            async with within(max(timeout_s, scaled(FIRST_LOOK_S))) as limit:
                while True:
                    if (why := await check()) is None:
                        return
                    limit.reschedule(ends)
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            raise WaitTimeoutError(what, seen=why, timeout_s=timeout_s, look_at=self.directory) from None

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

    async def wait_until_known(self, *, timeout_s: float) -> None:
        """Until a controller knows every node that runs. One that was elected before the last of them registered can read
        topics before it reads that node, and elects other leaders then. Programs of others have none to wait for."""
        if not self.has(BROKERS):
            return

        async def check() -> str | None:
            if (controller := await self.controller()) is None:
                return "there is no controller"
            if not self.has(REPORTS):
                return None
            counts = await self.capability(REPORTS).metrics(controller) or {}
            known, running = counts.get("ActiveBrokerCount", 0), len(self.running)
            return None if known >= running else f"the controller, node {controller}, knows {known} of {running} nodes"

        await self.wait_until("the controller knows all nodes", check, timeout_s=timeout_s)

    async def wait_until_converged(self, *, timeout_s: float) -> None:
        await self.wait_until("the cluster converges", self._unconverged, timeout_s=timeout_s)

    async def _unconverged(self) -> str | None:
        tree, running = await self.tree(), self.running
        if paused := [node for node in running if self.process_state(node) == "T"]:
            return f"nodes that are paused: {paused}"
        found = {node: self.session(node) for node in running}
        # A session may be about to expire, and then all is to be done again: ZooKeeper's tree does not show that.
        if apart := [node for node, session in found.items() if session is None or not session.connected]:
            return f"nodes that are not connected to ZooKeeper: {apart}"
        sessions = {node: session.session_id for node, session in found.items() if session is not None}
        if (why := unsettled(tree, sessions, self.nodes)) is not None or not self.has(REPORTS):
            return why
        return await self._reported_otherwise(tree, sessions)

    async def _reported_otherwise(self, tree: Tree, sessions: Mapping[int, int]) -> str | None:
        reports = self.capability(REPORTS)
        statuses = dict(zip(sessions, await gather_all([reports.status(node) for node in sessions]), strict=True))
        if silent := [node for node, status in statuses.items() if status is None]:
            return f"nodes that do not answer: {silent}"
        if late := [node for node, status in statuses.items() if status.session != sessions[node]]:
            return f"nodes that do not know their newest session yet: {late}"
        metadata = dict(zip(sessions, await gather_all([reports.metadata(node) for node in sessions]), strict=True))
        active = {node: status.active for node, status in statuses.items()}
        if why := reported_otherwise(tree, active, metadata) or still_to_do(statuses.values()):
            return why
        last = {node: await reports.caught_up(node) for node, is_active in active.items() if is_active}
        if silent := [node for node, status in last.items() if status is None]:
            return f"nodes that do not answer: {silent}"
        return still_to_do(status for status in last.values() if status is not None)

    async def unready(self, node: int) -> str | None:
        """See contract.Nodes."""
        owner, session = await self.broker_owner(node), self.session(node)
        if session is None:
            return "it has no ZooKeeper session yet"
        if self.has(REPORTS) and await self.capability(REPORTS).status(node) is None:
            return "its control socket does not answer yet"
        if not owner:
            return "it is not registered in /brokers/ids yet"
        return None if owner == session.session_id else "its registration belongs to an older session"


async def gather_all(work: Sequence[Awaitable[Any]]) -> list[Any]:
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
