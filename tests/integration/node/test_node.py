"""Real node processes on a real ZooKeeper, one link each way, no proxies."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_kcontroller.cluster.admin import AdminSession
from pytest_kcontroller.cluster.process.node import NodeProcess
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.topics import write_topic
from pytest_kcontroller.cluster.tree import Tree, read_tree
from pytest_kcontroller.cluster.zookeeper.embedded import EmbeddedZooKeeper
from pytest_kcontroller.cluster.zookeeper.end_session import close_session
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.model.history.event import rows
from pytest_kcontroller.node.process import command
from pytest_kcontroller.node.settings import NodeSettings
from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.zookeeper.session import Children, GetChildren, GetData, Node

LIMIT_S = 20


class World:
    """A ZooKeeper, a session of the test's own in it, and the nodes that a test starts."""

    def __init__(self, zookeeper: EmbeddedZooKeeper, admin: AdminSession, directory: Path) -> None:
        self.zookeeper, self.admin, self._directory = zookeeper, admin, directory
        self.nodes: dict[int, NodeProcess] = {}
        for name in ("history", "logs"):
            (directory / name).mkdir()

    async def start(self, node: int, **settings: Any) -> NodeProcess:
        process = NodeProcess(
            NodeSettings(node_id=node, zookeeper=str(self.zookeeper.address), session_timeout_ms=3000, **settings),
            self._directory,
            self._directory / f"n{node}",
            lambda *_: None,
        )
        self.nodes[node] = process
        await process.launch()
        await process.wait_ready(self._registered)
        return process

    async def _registered(self, node: int) -> str | None:
        status = await self.status(node)
        return None if status and status["broker_epoch"] > 0 else f"status {status}"

    async def status(self, node: int) -> dict[str, Any] | None:
        return await self.nodes[node].ask("status", timeout_s=scaled(2))

    async def registration(self, node: int) -> Node:
        found = await self.admin.session.submit(GetData(f"/brokers/ids/{node}"))
        assert isinstance(found, Node)
        return found

    async def until(self, what: str, check: Callable[[Tree], Awaitable[bool] | bool]) -> Tree:
        """The first tree that passes; fails with the last one."""
        tree: Tree | None = None
        try:
            async with within(scaled(LIMIT_S)):
                while True:
                    tree = await read_tree(self.admin.session)
                    passed = check(tree)
                    if passed if isinstance(passed, bool) else await passed:
                        return tree
                    await asyncio.sleep(0.02)
        except TimeoutError:
            pytest.fail(f"not within {LIMIT_S} s: {what}; there is {tree}")

    def history(self, node: int) -> list[dict[str, Any]]:
        lines = (self._directory / "history" / f"node-{node}.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]


@asynccontextmanager
async def world(directory: Path) -> AsyncIterator[World]:
    zookeeper = await EmbeddedZooKeeper.start(directory / "zookeeper", log=directory / "zookeeper.log")
    try:
        admin = await AdminSession.open(str(zookeeper.address))
        made = World(zookeeper, admin, directory)
        try:
            yield made
        finally:
            for node in made.nodes.values():
                await node.end(scaled(5))
            await admin.close()
    finally:
        await zookeeper.stop()


def played(directory: Path, script: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    async def play() -> None:
        async with world(directory) as made:
            await script(made)

    asyncio.run(play())


def _led_by(tree: Tree, tp: TopicPartition, *nodes: int) -> bool:
    now = tree.partitions.get(tp)
    return now is not None and now.state is not None and now.state.leader in nodes


def test_one_node_from_start_to_end(tmp_path: Path) -> None:
    async def script(w: World) -> None:
        node = await w.start(0, rack="r1")
        await w.until("it elects itself", lambda tree: tree.controller == 0)
        status = await w.status(0)
        assert status is not None
        registered = await w.registration(0)
        value = json.loads(registered.data)
        assert set(value) == {
            "features",
            "listener_security_protocol_map",
            "endpoints",
            "rack",
            "jmx_port",
            "port",
            "host",
            "version",
            "timestamp",
        }
        assert (value["version"], value["rack"], value["jmx_port"]) == (5, "r1", -1)
        assert value["endpoints"] == [f"PLAINTEXT://{status['address']}"]
        assert registered.stat.czxid == status["broker_epoch"]
        assert hex(registered.stat.ephemeral_owner) == status["session"]
        await write_topic(w.admin.session, "orders", {0: [0], 1: [0]}, NamedRng(1).stream("topic").randrange)
        await w.until("it leads", lambda tree: all(_led_by(tree, TopicPartition("orders", p), 0) for p in (0, 1)))
        await w.until("the broker knows", lambda _: _leads(w, 0, 2))
        assert await node.terminate(scaled(10)) == 0
        for path in ("/brokers/ids", "/"):
            children = await w.admin.session.submit(GetChildren(path))
            assert isinstance(children, Children)
            assert "0" not in children.names
            assert "controller" not in children.names
        led = [row["partition"] for e in w.history(0) if e["kind"] == "broker.become-leader" for row in rows(e)]
        assert sorted(led) == [0, 1]
        kinds = [event["kind"] for event in w.history(0)]
        assert kinds[0] == "node.started"
        assert "controller.elected" in kinds
        assert "node.stopping" in kinds

    played(tmp_path, script)


async def _leads(w: World, node: int, count: int) -> bool:
    status = await w.status(node)
    return status is not None and status["leads"] == count


def test_a_session_closed_by_somebody_else_is_followed_by_a_new_one(tmp_path: Path) -> None:
    async def script(w: World) -> None:
        await w.start(0)
        first = await w.until("it elects itself", lambda tree: tree.controller == 0)
        before, status = await w.registration(0), await w.status(0)
        assert status is not None
        await close_session(
            w.zookeeper.address, int(status["session"], 16), bytes.fromhex(status["password"]), timeout_s=scaled(5)
        )
        await w.until("it is elected again", lambda tree: tree.controller == 0 and tree.epoch == first.epoch + 1)
        after = await w.registration(0)
        assert after.stat.czxid > before.stat.czxid
        assert after.stat.ephemeral_owner != before.stat.ephemeral_owner
        again = await w.status(0)
        assert again is not None
        assert again["broker_epoch"] == after.stat.czxid
        assert again["address"] == status["address"]
        states = [(e["state"], e["session"]) for e in w.history(0) if e["kind"] == "zk.state"]
        assert ("expired", status["session"]) in states
        assert states[-1] == ("connected", again["session"])

    played(tmp_path, script)


def test_three_nodes_lose_a_leader_and_take_it_back(tmp_path: Path) -> None:
    tp = TopicPartition("orders", 0)

    async def script(w: World) -> None:
        for node in (0, 1, 2):
            await w.start(node)
        await w.until("all are registered", lambda tree: sorted(tree.brokers) == [0, 1, 2])
        await write_topic(w.admin.session, "orders", {0: [2, 1, 0]}, NamedRng(1).stream("topic").randrange)
        await w.until("2 leads", lambda tree: _led_by(tree, tp, 2))
        assert await w.nodes[2].kill(scaled(10)) == -9
        tree = await w.until("1 leads", lambda tree: _led_by(tree, tp, 1) and 2 not in tree.brokers)
        await w.until("2 is out of the ISR", lambda tree: _isr(tree, tp) == [0, 1])
        await w.nodes[2].launch()
        await w.nodes[2].wait_ready(w._registered)
        tree = await w.until("2 is back in the ISR", lambda tree: _isr(tree, tp) == [0, 1, 2])
        assert _led_by(tree, tp, 1)
        told = [await w.nodes[n].ask("metadata", timeout_s=scaled(2)) for n in (0, 1, 2)]
        await w.until("all are told the same", lambda _: _same_metadata(w, told))

    played(tmp_path, script)


def _isr(tree: Tree, tp: TopicPartition) -> list[int]:
    state = tree.partitions[tp].state
    return [] if state is None else sorted(state.isr)


async def _same_metadata(w: World, told: list[Any]) -> bool:
    told[:] = [await w.nodes[n].ask("metadata", timeout_s=scaled(2)) for n in (0, 1, 2)]
    return all(answer is not None and answer == told[0] for answer in told)


def test_a_controller_that_dies_is_followed_by_another(tmp_path: Path) -> None:
    tp = TopicPartition("orders", 0)

    async def script(w: World) -> None:
        for node in (0, 1, 2):
            await w.start(node)
        first = await w.until("a controller", lambda tree: tree.controller is not None)
        assert first.controller is not None
        others = [node for node in (0, 1, 2) if node != first.controller]
        await write_topic(
            w.admin.session, "orders", {0: [first.controller, *others]}, NamedRng(1).stream("topic").randrange
        )
        await w.until("it leads", lambda tree: _led_by(tree, tp, first.controller or 0))
        await w.nodes[first.controller].kill(scaled(10))
        # Both in one look: the tree is read in several requests, and the controller first.
        over = await w.until("others do", lambda tree: _led_by(tree, tp, *others) and tree.controller in others)
        assert over.epoch > first.epoch

    played(tmp_path, script)


def test_hold_and_release_are_seen_from_outside(tmp_path: Path) -> None:
    point = "controller.before-state-write"

    async def script(w: World) -> None:
        node = await w.start(0)
        await w.until("it elects itself", lambda tree: tree.controller == 0)
        assert await node.ask("hold", point="no.such-point", timeout_s=scaled(2)) is None
        await node.ask("hold", point=point, timeout_s=scaled(2))
        await write_topic(w.admin.session, "orders", {0: [0]}, NamedRng(1).stream("topic").randrange)

        async def waits(_: Tree) -> bool:
            status = await w.status(0)
            return status is not None and status["waiting"] == [point]

        tree = await w.until("it waits there", waits)
        assert tree.partitions[TopicPartition("orders", 0)].state is None
        await node.ask("release", point=point, timeout_s=scaled(2))
        await w.until("it goes on", lambda tree: _led_by(tree, TopicPartition("orders", 0), 0))

    played(tmp_path, script)


def test_the_end_of_a_whole_cluster_is_no_controlled_shutdown(tmp_path: Path) -> None:
    async def script(w: World) -> None:
        for node in (0, 1):
            await w.start(node)
        for process in w.nodes.values():
            await process.end(scaled(10))

    played(tmp_path, script)
    histories = [file.read_text() for file in (tmp_path / "history").glob("node-*.jsonl")]
    assert len(histories) == 2
    assert all('"node.stopping"' in text and "controlled-shutdown" not in text for text in histories)


def test_a_bad_start_is_one_sentence(tmp_path: Path) -> None:
    async def script(w: World) -> None:
        node = await w.start(0)
        status = await w.status(0)
        assert status is not None
        address = str(w.zookeeper.address)
        taken = await _ended(tmp_path, node_id=1, zookeeper=address, listen=status["address"])
        assert taken[0] == 6
        assert taken[1].startswith(f"node: setting `listen`: cannot listen on {status['address']}: ")
        foreign = await _ended(tmp_path, node_id=1, zookeeper=address, directory=str(node.data))
        assert foreign[0] == 2
        assert "belongs to the broker 0, not to 1" in foreign[1]
        twin = await _ended(tmp_path, node_id=0, zookeeper=address, session_timeout_ms=500)
        assert twin[0] == 6
        assert "another broker with the id 0 is registered" in twin[1]
        assert await node.terminate(scaled(10)) == 0

    played(tmp_path, script)


def test_no_zookeeper_is_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = "{}:{}".format(*unused.getsockname())
        config = {"zookeeper.connection.timeout.ms": 300}
        ended = asyncio.run(_ended(tmp_path, node_id=0, zookeeper=address, config=config))
    assert ended == (6, f"node: {address}: no ZooKeeper session within 0.3 s")


@pytest.mark.parametrize(
    ("key", "value", "wrong"),
    [
        ("controlled.shutdown.enable", "yes", "controlled.shutdown.enable = 'yes' is not true or false"),
        ("controlled.shutdown.max.retry", 2, "nodes do not know Kafka's setting 'controlled.shutdown.max.retry'"),
    ],
)
def test_a_bad_setting_of_kafkas_names_it(tmp_path: Path, key: str, value: object, wrong: str) -> None:
    file = tmp_path / "node.json"
    file.write_text(json.dumps({"node_id": 0, "zookeeper": "localhost:1", "config": {key: value}}))
    ended = asyncio.run(_status_and_sentence(file))
    assert ended == (2, f"node: {file}: setting `config`, {key}: {wrong}")


def test_bad_settings_are_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.json").write_text("{")
    assert command([str(tmp_path / "bad.json")]) == 2
    assert command([]) == 2
    printed = capsys.readouterr().err
    assert "bad.json: no node settings" in printed
    assert "usage: python -m pytest_kcontroller.node SETTINGS.json" in printed
    assert "Traceback" not in printed


async def _ended(directory: Path, /, **settings: Any) -> tuple[int, str]:
    """Starts a node that ends by itself: its status and the first part of what it said."""
    file = directory / "ending.json"
    NodeSettings(**{"directory": str(directory / "ending"), **settings}).save(file)
    return await _status_and_sentence(file)


async def _status_and_sentence(file: Path) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "pytest_kcontroller.node", str(file), stderr=asyncio.subprocess.PIPE
    )
    async with within(scaled(LIMIT_S)):
        _, said = await process.communicate()
    text = said.decode()
    assert "Traceback" not in text
    lines = text.splitlines()
    assert lines and lines[0].startswith("node: "), text
    assert process.returncode is not None
    return process.returncode, lines[0]


def test_nodes_by_hand_have_a_directory_each_and_leave_nothing(tmp_path: Path) -> None:
    """`kcontroller node` twice in one folder, as its help shows it; a node of a named directory knows its cluster again."""
    folder = tmp_path / "here"
    folder.mkdir()
    program = "import sys; from pytest_kcontroller.cli import main; sys.exit(main())"

    async def script(made: World) -> None:
        async def start(node: int, *more: str) -> asyncio.subprocess.Process:
            words = ("node", "--id", str(node), "--zookeeper", str(made.zookeeper.address), "--port", "0", *more)
            return await asyncio.create_subprocess_exec(sys.executable, "-c", program, *words, cwd=folder)

        nodes = [await start(0), await start(1), await start(2, "--directory", "two")]
        await made.until("three nodes are registered", lambda tree: sorted(tree.brokers) == [0, 1, 2])
        for process in nodes:
            process.terminate()
        assert [await process.wait() for process in nodes] == [0, 0, 0]

    played(tmp_path, script)
    assert [path.name for path in folder.iterdir()] == ["two"]
    assert "broker.id=2" in (folder / "two" / "meta.properties").read_text()
