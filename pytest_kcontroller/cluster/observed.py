"""What every backend's cluster does in the same way: topics, and waits for what is observed.

It sees a cluster as contract.py says: nodes by their processes and links, the rest by ZooKeeper. What nodes of
ours report is asked for besides, where they do.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

from pytest_kcontroller.broker.shutdown import ShutdownLimits
from pytest_kcontroller.cluster.capabilities import REPORTS, Capability, NodeStatus
from pytest_kcontroller.cluster.contract import NodeSession
from pytest_kcontroller.cluster.timing import scaled, stretched
from pytest_kcontroller.cluster.topics import Assigned, assign, check_topic, write_topic
from pytest_kcontroller.cluster.tree import Tree, read_leader, read_tree, reported_otherwise, unsettled
from pytest_kcontroller.errors import EnvironmentFailure, NotOnThisBackend, WaitTimeoutError
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.model.history import StrategyBadAnswer
from pytest_kcontroller.plugin.manager import Plugins, load_plugins
from pytest_kcontroller.runtime.foreign import LIMIT_S
from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.zookeeper.session import (
    ConnectionLossError,
    GetData,
    NoNodeError,
    SessionExpiredError,
    ZkSession,
)
from pytest_kcontroller.zookeeper.znodes import CONTROLLER, broker_path, decode_controller

T = TypeVar("T")

CLOSE_S = 5.0
"""A node that has been relieved closes its session and ends, on a busy host too."""
ANSWER_S = 40.0
"""ZooKeeper answers within this time; longer than the harness's own session lives without it."""
POLL_S = 0.02
"""How often a wait looks at the observed state."""

STOCK_STRATEGY = "striped"
"""What decides where the chosen assignment strategy gave an answer that cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """What a cluster is made of; the values mean what they mean in NodeSettings."""

    nodes: int = 3
    session_timeout_ms: int = 3000
    selectors: Mapping[str, Any] = field(default_factory=dict)
    assignment: Any = "striped"
    config: Mapping[str, Any] = field(default_factory=dict)
    plugins: tuple[str, ...] = ()
    plugin_limit_s: float = LIMIT_S
    """Not stretched yet: timing.stretched."""
    mutant: str | None = None
    seed: int = 0
    zookeeper_image: str | None = None
    """ZooKeeper runs in a container of this image; None: in a JVM of ours."""


class ObservedCluster(ABC):
    """The part of contract.Cluster that needs no process, socket or file. `directory` is where a person looks for more,
    `plugins` those of the settings, if they have been loaded already."""

    def __init__(self, settings: ClusterSettings, directory: Path, plugins: Plugins | None = None) -> None:
        self.settings, self.directory = settings, directory
        self._draw = NamedRng(settings.seed).stream("cluster/topics").randrange
        self._plugins = plugins or load_plugins(settings.plugins)
        self._silent_strategy = False
        """It did not answer in time: it is not asked again."""

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
    def stop_s(self) -> float:
        """See contract.Cluster."""
        limits = ShutdownLimits.of(self.settings.config)
        return CLOSE_S + (0 if limits is None else limits.longest_us / 1e6)

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
        check_topic(name, partitions, replication_factor, assignment, range(self.settings.nodes))
        bad_answer = None
        if assignment is None:
            assigned = await self._assigned(partitions, replication_factor)
            assignment = assigned.replicas
            if assigned.bad_answer is not None:
                bad_answer = StrategyBadAnswer(plugin=assigned.by, topic=name, why=assigned.bad_answer)
        try:
            await write_topic(self.admin, name, assignment, self._draw, topic_id=topic_id)
        except SessionExpiredError:
            await self.renew_admin()
            raise EnvironmentFailure(f"the harness's session ended while the topic {name!r} was created") from None
        return bad_answer

    async def _assigned(self, partitions: int, replication_factor: int) -> Assigned:
        stock = self._plugins.assignments.make(STOCK_STRATEGY)
        chosen = stock if self._silent_strategy else self._plugins.assignments.make(self.settings.assignment)
        assigned = assign(
            await self.tree(),
            chosen,
            stock,
            self._draw,
            partitions=partitions,
            replication_factor=replication_factor,
            limit_s=stretched(self.settings.plugin_limit_s),
        )
        self._silent_strategy |= assigned.late
        return assigned

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

        Raises EnvironmentFailure if ZooKeeper does not answer for so long that it cannot be the host.
        """
        limit = asyncio.timeout(scaled(ANSWER_S))
        try:
            async with limit:
                while True:
                    try:
                        return await read(self.admin)
                    except SessionExpiredError:
                        await self.renew_admin()
                    except ConnectionLossError:
                        await asyncio.sleep(POLL_S)  # it reconnects, or `admin` says that there is nobody any more
        except TimeoutError:
            if not limit.expired():
                raise
            what = f"ZooKeeper has not answered for {scaled(ANSWER_S):g} s: was it stopped?"
            raise EnvironmentFailure(what, where=str(self.directory / "logs")) from None

    async def broker_owner(self, node: int) -> int:
        """The session that owns the node's registration; 0: it is not registered."""

        async def read(session: ZkSession) -> int:
            try:
                found = await session.submit(GetData(broker_path(node)))
            except NoNodeError:
                return 0
            return int(getattr(getattr(found, "stat", None), "ephemeral_owner", 0))

        return await self._with_admin(read)

    async def wait_until(self, what: str, check: Callable[[], Awaitable[str | None]], *, timeout_s: float) -> None:
        why: str | None = "it was not looked at"
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    if (why := await check()) is None:
                        return
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
        if (why := unsettled(tree, sessions)) is not None or not self.has(REPORTS):
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
        return reported_otherwise(tree, {node: status.active for node, status in statuses.items()}, metadata)

    async def _registered(self, node: int) -> str | None:
        """Why a node that has been started is not ready yet."""
        owner, session = await self.broker_owner(node), self.session(node)
        if session is None:
            return "it has no ZooKeeper session yet"
        if self.has(REPORTS) and await self.capability(REPORTS).status(node) is None:
            return "its control socket does not answer yet"
        if not owner:
            return "it is not registered in /brokers/ids yet"
        return None if owner == session.session_id else "its registration belongs to an older session"


def status_of(node: int, answer: Mapping[str, Any]) -> NodeStatus:
    """A node's own report (node.control.NodeReport as JSON) as the harness reads it."""
    return NodeStatus(
        node=node,
        active=bool(answer.get("active")),
        epoch=int(answer.get("epoch") or 0),
        session=_session(answer.get("session")),
        phase=str(answer.get("phase", "")),
        raw=answer,
    )


def _session(value: object) -> int:
    """A session id as `0x...` or a number; 0 for none."""
    if isinstance(value, str):
        return int(value, 16) if value else 0
    return value if isinstance(value, int) else 0


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
