"""What the fixture `kcluster` gives: a cluster of this test's own, with calls that return when their effect is seen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_kcontroller.backend import Backend
from pytest_kcontroller.cluster.api import ZOOKEEPER, Cluster
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.driver import Driver
from pytest_kcontroller.errors import EnvironmentError_, UsageError
from pytest_kcontroller.khistory import KHistory

if TYPE_CHECKING:
    from kazoo.client import KazooClient

__tracebackhide__ = True  # pytest: a failing call is shown where the test makes it

WAIT_S = 30.0
"""How long a wait goes on if the test does not say it: scaled, and in simulated time of that."""

PLANES = ("zk", "control", "data", "client")


class InvariantError(AssertionError):
    """An invariant does not hold, or could not be judged; the message says all that is known."""


class Net:
    """The links between nodes, and between nodes and ZooKeeper. An end is a node's id or `"zookeeper"`."""

    def __init__(self, driver: Driver, cluster: Cluster, act: Callable[..., None]) -> None:
        self._driver, self._cluster, self._act = driver, cluster, act
        self._cut: list[tuple[str, str, str]] = []

    def cut(self, a: int | str, b: int | str, *, direction: Literal["both", "a-to-b"] = "both") -> None:
        """Nothing passes on the links between `a` and `b` (`a-to-b`: on the links that `a` opens); connections stay open."""
        links = self._links(a, b, direction)
        self._act("net.cut", a, b, direction=direction)
        for link in links:
            if link not in self._cut:
                self._cut.append(link)
                self._driver.call(self._cluster.cut(*link))

    def heal(self, a: int | str | None = None, b: int | str | None = None) -> None:
        """Between `a` and `b`, or everywhere. What was written meanwhile passes."""
        self._act("net.heal", *(end for end in (a, b) if end is not None))
        wanted = list(self._cut) if a is None or b is None else self._links(a, b, "both")
        for link in wanted:
            if link in self._cut:
                self._cut.remove(link)
                self._driver.call(self._cluster.heal(*link))

    def _links(self, a: int | str, b: int | str, direction: str) -> list[tuple[str, str, str]]:
        if direction not in ("both", "a-to-b"):
            raise UsageError(f"no direction {direction!r}", hint="both or a-to-b")
        ends = [self._end(a), self._end(b)]
        pairs = [tuple(ends), tuple(reversed(ends))] if direction == "both" else [tuple(ends)]
        links = []
        for source, target in pairs:
            if target == ZOOKEEPER:
                links.append((source, target, "zk"))
            elif source != ZOOKEEPER:
                links.append((source, target, "control"))
        return links

    def _end(self, end: int | str) -> str:
        name = str(end)
        if name != ZOOKEEPER and name not in map(str, self._cluster.nodes):
            raise UsageError(f"there is no node {end!r}", hint=f"one of {self._cluster.nodes}, or {ZOOKEEPER!r}")
        return name


class KCluster:
    """See the fixture. Every method raises EnvironmentError_ if what it does is not observed in time."""

    def __init__(self, backend: Backend) -> None:
        self.backend, self._driver, self._cluster = backend, backend.driver, backend.cluster
        self.khistory = KHistory(backend.history)
        self._zk: KazooClient | None = None
        self._paused: set[int] = set()
        self.net = Net(self._driver, self._cluster, self._act)

    def _act(self, action: str, *arguments: object, **more: object) -> None:
        """Records what the test does."""
        said = [str(argument) for argument in arguments] + [f"{key}={value}" for key, value in more.items()]

        async def record() -> None:
            self.backend.record("test.action", action=action, arguments=", ".join(said))

        self._driver.call(record())

    # --- what there is

    @property
    def directory(self) -> Path:
        """Histories and logs of this cluster."""
        return self.backend.directory

    @property
    def nodes(self) -> tuple[int, ...]:
        """Ids of all nodes, running or not."""
        return self._cluster.nodes

    @property
    def controller(self) -> int:
        """The node that /controller names; waits until there is one."""
        return self.wait_for_controller()

    @property
    def controller_epoch(self) -> int:
        """What /controller_epoch holds."""
        return self._driver.call(self._cluster.tree()).epoch

    @property
    def bootstrap_servers(self) -> str:
        """HOST:PORT,... of the running nodes, for clients. Raises NotOnThisBackend in simulated time."""
        return self.backend.bootstrap_servers()

    @property
    def session_timeout_ms(self) -> int:
        """The nodes' session time-out, as negotiated with ZooKeeper."""
        negotiated = self._driver.call(self.backend.session_timeouts_ms())
        for node in self._cluster.running:
            status = self._driver.call(self._cluster.status(node))
            if status is not None and status.session in negotiated:
                return negotiated[status.session]
        raise EnvironmentError_("no running node has a ZooKeeper session now")

    @property
    def zk(self) -> KazooClient:
        """A started kazoo client, straight to this cluster's ZooKeeper: no cut link hits it."""
        if self._zk is None:
            self._zk = self.backend.client()
        return self._zk

    def describe(self) -> Mapping[str, object]:
        """What ZooKeeper holds now: controller, epoch, brokers, partitions (docs/formats.md, zk.tree)."""
        return self._driver.call(self._cluster.tree()).record()

    # --- doing

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replication_factor: int = 1,
        *,
        assignment: Mapping[int, Sequence[int]] | None = None,
    ) -> None:
        """Writes Kafka's znodes and waits until every partition has a leader. Raises UsageError if the topic exists."""
        self._act("create_topic", name, partitions=partitions, replication_factor=replication_factor)
        self._driver.call(
            self._cluster.create_topic(
                name, partitions=partitions, replication_factor=replication_factor, assignment=assignment
            )
        )
        self.wait_until_online(name)

    def kill(self, node: int) -> None:
        """SIGKILL; returns when the process has ended."""
        self._act("kill", node)
        self.backend.ending.add(node)
        self._paused.discard(node)
        self._driver.call(self._cluster.kill(node))

    def stop(self, node: int) -> None:
        """SIGTERM: a controlled shutdown, and the end of its session; returns when the process has ended."""
        self._act("stop", node)
        self.backend.ending.add(node)
        self._paused.discard(node)
        self._driver.call(self._cluster.stop_node(node))

    def restart(self, node: int) -> None:
        """Starts a node that has ended (ends it first if it runs); returns when it is registered. Raises StartError."""
        if node in self._cluster.running:
            self.stop(node)
        self._act("restart", node)
        self.backend.ending.discard(node)
        self._driver.call(self._cluster.restart(node))

    def pause(self, node: int) -> None:
        """SIGSTOP."""
        self._act("pause", node)
        self._paused.add(node)
        self._driver.call(self._cluster.pause(node))

    def resume(self, node: int) -> None:
        """SIGCONT."""
        self._act("resume", node)
        self._paused.discard(node)
        self._driver.call(self._cluster.resume(node))

    def expire_session(self, node: int, mode: Literal["server", "natural"] = "server") -> int:
        """Ends the node's ZooKeeper session and returns its id; returns when ZooKeeper has no znode of it any more.

        `server`: a second client resumes the session and closes it. `natural`: the node is cut off until ZooKeeper gives the
        session up, which takes the session time-out; the link is healed then.
        """
        owner = self._session_of(node)
        self._act("expire_session", node, mode=mode)
        if mode == "server":
            self._driver.call(self._cluster.expire_session_server(node))
            self._wait_gone(node, owner, WAIT_S)
        elif mode == "natural":
            self.net.cut(node, ZOOKEEPER)
            try:
                self._wait_gone(node, owner, WAIT_S + 2 * self._cluster.session_timeout_ms / 1000)
            finally:
                self.net.heal(node, ZOOKEEPER)
        else:
            raise UsageError(f"no mode {mode!r} of expiry", hint="server or natural")
        return owner

    def _session_of(self, node: int) -> int:
        status = self._driver.call(self._cluster.status(node))
        if status is None or not status.session:
            raise EnvironmentError_(f"node {node} has no ZooKeeper session now")
        return status.session

    def _wait_gone(self, node: int, session: int, limit_s: float) -> None:
        async def check() -> str | None:
            tree = await self._cluster.tree()
            owners = {tree.controller_owner}
            # a session's own broker znode is made after its handshake, so that a new czxid means a new session
            stat = await self._cluster.broker_owner(node)
            return f"session {session:#x} still owns znodes" if session in owners | {stat} else None

        self._wait_until(f"session {session:#x} ends", check, limit_s)

    # --- waiting

    def wait_for_controller(self, *, other_than: int | None = None, timeout_s: float = WAIT_S) -> int:
        """The node that /controller names once it is not `other_than`."""

        async def wait() -> int:
            return await self._cluster.wait_for_controller(other_than=other_than, timeout_s=scaled(timeout_s))

        return self._driver.call(wait())

    def wait_until_online(self, topic: str | None = None, *, timeout_s: float = WAIT_S) -> None:
        """Until every partition (of `topic`) has a leader."""

        async def check() -> str | None:
            tree = await self._cluster.tree()
            for tp, now in sorted(tree.partitions.items()):
                if (topic is None or tp.topic == topic) and (now.state is None or now.state.leader < 0):
                    return f"{tp} has no leader"
            return None

        self._wait_until(f"the partitions{f' of {topic}' if topic else ''} are online", check, timeout_s)

    def wait_until_converged(self, *, timeout_s: float = WAIT_S) -> None:
        """Until one controller is active and owns /controller, and every partition with a live in-sync replica is led, with
        all live replicas in its ISR, and all nodes have been told the same. Raises UsageError while a link is cut or a
        node is paused: that cannot be then."""
        if self.net._cut:
            raise UsageError("a cluster with a cut link cannot converge", hint="net.heal() first")
        if self._paused:
            raise UsageError(
                f"a cluster with a paused node ({min(self._paused)}) cannot converge", hint="resume it first"
            )

        async def wait() -> None:
            await self._cluster.wait_until_converged(timeout_s=scaled(timeout_s))

        self._driver.call(wait())

    def _wait_until(self, what: str, check: Callable[[], Awaitable[str | None]], limit_s: float) -> None:
        async def wait() -> None:  # in the driver: there it is known whether a limit may be stretched
            await self._cluster.wait_until(what, check, timeout_s=scaled(limit_s))

        self._driver.call(wait())

    # --- judging

    @property
    def history(self) -> list[Mapping[str, Any]]:
        """What nodes, ZooKeeper and this test have done so far (docs/formats.md), by time."""
        return list(self.khistory)

    def check(self) -> None:
        """Every invariant over the history of this test so far, with ZooKeeper's own log as the witness.

        Faults must be healed, and the cluster converged, before: liveness is judged as of now. Raises InvariantError with
        expected, seen and where for each invariant that is violated or could not be judged, and what happened around it.
        """
        from kcontroller_chaos.decisive import windows
        from kcontroller_chaos.explain import failures
        from kcontroller_chaos.invariants import check_all
        from kcontroller_chaos.timeline import nodes_of_sessions

        self._driver.call(self._record_now())
        history = self.backend.history()
        found = {"invariants": check_all(history), "faults": []}
        if text := failures(found, windows(history, found, nodes_of_sessions(history))):
            raise InvariantError(text)

    def last_moments(self) -> list[tuple[str, str]]:
        """Title and text of what a failed test shows: the last two seconds of its history, and of every log."""
        from kcontroller_chaos.decisive import last_moments
        from kcontroller_chaos.explain import events, logs
        from kcontroller_chaos.timeline import nodes_of_sessions

        history = self.backend.history()
        window = last_moments(history, nodes_of_sessions(history))
        start = self.backend.start
        return [
            ("kcluster: the last moments (run times)", events(window)),
            *logs(self.directory / "logs", start, window["from_us"], window["to_us"]),
        ]

    async def _record_now(self) -> None:
        """What nodes and ZooKeeper say now, for the invariants about the end."""
        for node in self._cluster.running:
            if (status := await self._cluster.status(node)) is not None:
                self.backend.record("node.status", **status.record())
            if (told := await self._cluster.metadata(node)) is not None:
                self.backend.record("node.metadata", node=node, metadata=told)
        self.backend.record("zk.tree", **(await self._cluster.tree()).record())

    # --- the end

    def close(self) -> None:
        """Ends everything; histories and logs are left in `directory`. Idempotent."""
        try:
            if self._zk is not None:
                self._zk.stop()
                self._zk.close()
                self._zk = None
        finally:
            self.backend.ending.update(self._cluster.nodes)
            self.backend.close()
