"""The cluster of `kcontroller up`: started, shown, and watched."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kcontroller_chaos import backends
from kcontroller_chaos.backends.process import ProcessRun
from kcontroller_chaos.backends.run import Run, perform
from pytest_kcontroller.cli._json import print_json_line
from pytest_kcontroller.cli._signals import until_terminated
from pytest_kcontroller.cli._text import columns, labelled
from pytest_kcontroller.cluster.admin import open_session
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.process.cluster import ProcessCluster
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.tree import Tree
from pytest_kcontroller.cluster.zookeeper.server import answering
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.runtime.nursery import Nursery
from pytest_kcontroller.runtime.real import RealClock, RunStart
from pytest_kcontroller.zookeeper.kazoo_session import KazooConnector
from pytest_kcontroller.zookeeper.session import (
    ConnectionLossError,
    Exists,
    SessionEvent,
    SessionExpiredError,
    SessionState,
    StateEvent,
    ZkSession,
)
from pytest_kcontroller.zookeeper.znodes import CONTROLLER

WAIT_S = 30.0
SESSION_MS = 60_000


Say = Callable[..., None]
"""Takes a sentence for a person, the name of what has happened, and its facts for a program."""


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    partitions: int
    replicas: int


@dataclass(frozen=True, slots=True)
class Exit:
    node: int
    status: int


def sayer(*, as_json: bool) -> Say:
    """Prints text, or a line of JSON. What comes after `up` has the time since then."""
    clock = RealClock(RunStart.now())
    began_us: list[int] = []

    def say(text: str, event: str, **facts: object) -> None:
        if event == "up":
            began_us.append(clock.now_us())
        since_s = (clock.now_us() - began_us[0]) / 1e6 if began_us else 0.0
        if as_json:
            print_json_line({"event": event, "time_s": round(since_s, 3), **facts})
        else:
            print(text if event in ("up", "stopped") else f"[{since_s:8.1f} s] {text}", flush=True)

    return say


class Watcher:
    """What there is to say: ends of nodes, and what our own ZooKeeper session hears."""

    def __init__(self) -> None:
        self.news: asyncio.Queue[SessionEvent | Exit] = asyncio.Queue()
        self.states: asyncio.Queue[SessionState] = asyncio.Queue()

    def exited(self, node: int, status: int) -> None:
        self.news.put_nowait(Exit(node, status))

    def heard(self, event: SessionEvent) -> None:
        self.news.put_nowait(event)
        if isinstance(event, StateEvent):
            self.states.put_nowait(event.state)


async def until_asked(settings: ClusterSettings, directory: Path, topics: list[Topic], *, say: Say) -> None:
    """SIGTERM, which other programs send, does what Ctrl-C does. Once: a second one must not stop the stopping."""

    def stopping() -> None:
        with contextlib.suppress(OSError):  # who read what is said may have left
            print("stopping ...", flush=True)

    await until_terminated(play(settings, directory, topics, say=say), stopping)


async def play(settings: ClusterSettings, directory: Path, topics: list[Topic], *, say: Say) -> None:
    """Until it is cancelled. Raises StartError, and EnvironmentFailure if ZooKeeper ends."""
    print(f"starting ZooKeeper and {_nodes(settings.nodes)} ...", flush=True)
    watcher = Watcher()
    run = backends.backend(backends.DEFAULT).load().new_run(settings, directory)
    assert isinstance(run, ProcessRun)
    run.on_exit = watcher.exited

    async def live(_: Run) -> None:
        await run.cluster.unless_failed(_live(run.cluster, watcher, topics, say))

    try:
        await perform(run, live)
    finally:
        run.close()


async def _live(cluster: ProcessCluster, watcher: Watcher, topics: list[Topic], say: Say) -> None:
    servers = cluster.zookeeper.connect_string
    connector = KazooConnector(servers, timeout_ms=SESSION_MS)
    async with Nursery() as tasks:
        tasks.start(_guard(cluster, watcher), name="guard")
        session = await open_session(connector, servers, watcher.heard)
        for topic in topics:
            bad_answer = await cluster.create_topic(
                topic.name, partitions=topic.partitions, replication_factor=topic.replicas
            )
            if bad_answer is not None:
                print(f"{bad_answer.sentence()}; striped decided", flush=True)
        await cluster.wait_for_controller(timeout_s=scaled(WAIT_S))
        await cluster.wait_until_converged(timeout_s=scaled(WAIT_S))
        await _show(cluster, topics, say)
        while True:
            try:
                await _watch(cluster, session, watcher, say)
            finally:
                await session.close()
            session = await open_session(connector, servers, watcher.heard)


async def _guard(cluster: ProcessCluster, watcher: Watcher) -> None:
    """Raises EnvironmentFailure when the connection is lost and ZooKeeper, though it has not ended, does not answer."""
    while True:
        state = await watcher.states.get()
        if state == SessionState.SUSPENDED and not await answering(cluster.zookeeper.addresses):
            log = cluster.directory / "logs" / "zookeeper.log"
            raise EnvironmentFailure("ZooKeeper does not answer: was it stopped?", where=str(log))


async def _show(cluster: ProcessCluster, topics: list[Topic], say: Say) -> None:
    tree = await cluster.tree()
    brokers = sorted(tree.brokers.items())
    nodes = [{"node": n, "address": str(b.address), "pid": cluster.process(n).pid} for n, b in brokers]
    say(
        "\n".join(_shown(cluster, tree, topics)),
        "up",
        bootstrap_servers=_bootstrap_servers(cluster, tree),
        zookeeper=cluster.zookeeper.connect_string,
        session_timeout_ms=_granted_ms(cluster),
        logs=str(cluster.directory / "logs"),
        topics=[{"name": t.name, "partitions": t.partitions, "replication_factor": t.replicas} for t in topics],
        nodes=nodes,
        controller=tree.controller,
        epoch=tree.epoch,
    )


def _granted_ms(cluster: ProcessCluster) -> int:
    session = cluster.session(cluster.nodes[0])
    return cluster.session_timeout_ms if session is None else session.timeout_ms


def _bootstrap_servers(cluster: ProcessCluster, tree: Tree) -> list[str]:
    return [str(cluster.client_address(node)) for node in sorted(tree.brokers)]


def _shown(cluster: ProcessCluster, tree: Tree, topics: list[Topic]) -> list[str]:
    facts = [
        ("bootstrap servers", ",".join(_bootstrap_servers(cluster, tree))),
        ("ZooKeeper", cluster.zookeeper.connect_string),
        ("session time-out", f"{_granted_ms(cluster)} ms"),
        ("logs", str(cluster.directory / "logs")),
    ]
    if topics:
        facts.append(("topics", ", ".join(f"{t.name} ({t.partitions} x {t.replicas})" for t in topics)))
    rows = [
        (
            f"node {node}",
            str(broker.address),
            f"pid {cluster.process(node).pid}",
            f"controller, epoch {tree.epoch}" if node == tree.controller else "",
        )
        for node, broker in sorted(tree.brokers.items())
    ]
    verb = "is" if len(tree.brokers) == 1 else "are"
    if tree.controller in cluster.running and len(cluster.running) > 1:
        facts.append(
            ("try", f"kill -9 {cluster.process(tree.controller).pid}   (the controller: another node takes over)")
        )
    return [
        f"{_nodes(len(tree.brokers))} {verb} up; Ctrl-C stops everything",
        *labelled(facts, indent="  "),
        *columns(rows, indent="  "),
    ]


def _nodes(count: int) -> str:
    return f"{count} node{'' if count == 1 else 's'}"


async def _watch(cluster: ProcessCluster, session: ZkSession, watcher: Watcher, say: Say) -> None:
    """A line for each change of controller and each end of a node; returns when the session has expired."""
    seen = await _reign(cluster, session)
    while True:
        match await watcher.news.get():
            case Exit(node, status):
                left = ", ".join(map(str, cluster.running)) or "none"
                log = cluster.process(node).log
                said = f"node {node} ended {_describe(status)}; nodes that run: {left}; its log: {log}"
                say(said, "exit", node=node, exit_status=status, running=list(cluster.running), log=str(log))
                continue
            case StateEvent(SessionState.SUSPENDED):
                continue
        try:
            now = await _reign(cluster, session)
        except ConnectionLossError:
            continue  # it is asked again when the connection is back
        except SessionExpiredError:
            return
        if now != seen:
            controller, epoch = now
            said = "no controller" if controller is None else f"controller: node {controller}, epoch {epoch}"
            say(said, "controller", controller=controller, epoch=epoch)
            seen = now


async def _reign(cluster: ProcessCluster, session: ZkSession) -> tuple[int | None, int]:
    """Who /controller names, and the epoch; the watch is set before they are read."""
    await session.submit(Exists(CONTROLLER, watch=True))
    tree = await cluster.tree()
    return tree.controller, tree.epoch


def _describe(status: int) -> str:
    return f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
