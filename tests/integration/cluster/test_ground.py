"""ZooKeeper and the proxies are handed on from cluster to cluster: as new, or not at all."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path

import pytest

from kcontroller_chaos.backends.process import ProcessRun, new_run
from pytest_kcontroller.cluster.admin import AdminSession
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.process.ground import LOGS, Grounds
from pytest_kcontroller.cluster.process.proxy_server import in_thread
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.zookeeper.session import Create, SetData
from tests.tools.toxiproxy_servers import Upstream, drawn, drawn_from

LIMIT_S = 60
Test = Callable[[ProcessRun], Awaitable[None]]


async def in_turn(directory: Path, *tests: tuple[int, Test], seeds: Sequence[int] = ()) -> list[ProcessRun]:
    """Runs on one loop, with so many nodes each. Nothing is left at the end."""
    grounds, runs = Grounds(), []
    try:
        for number, (nodes, test) in enumerate(tests):
            settings = ClusterSettings(nodes=nodes, session_timeout_ms=10_000, seed=seeds[number] if seeds else 0)
            run = new_run(settings, directory / str(number), grounds)
            await run.open()
            try:
                await test(run)
            finally:
                await run.stop()
                run.close()
            runs.append(run)
    finally:
        await grounds.close()
    return runs


def play(directory: Path, *tests: tuple[int, Test], seeds: Sequence[int] = ()) -> list[ProcessRun]:
    async def limited() -> list[ProcessRun]:
        async with within(scaled(LIMIT_S) * len(tests)):
            return await in_turn(directory, *tests, seeds=seeds)

    return asyncio.run(limited())


def test_what_a_cluster_has_done_is_nowhere_in_the_next_one(tmp_path: Path) -> None:
    """A topic, its configuration, a cut link, a node that was killed and whose session lives: all of it is gone."""

    async def leave_a_mess(run: ProcessRun) -> None:
        cluster = run.cluster
        await cluster.create_topic("left", partitions=2, replication_factor=2)
        await cluster.wait_until_converged(timeout_s=scaled(LIMIT_S))
        await cluster.admin.submit(Create("/mine"))
        await cluster.admin.submit(Create("/mine/below", b"x" * 1000))
        await cluster.cut("0", "1", "control")
        await cluster.slow("1", "zookeeper", "zk", delay_ms=1)
        await cluster.kill(1)

    seen = []

    async def look(run: ProcessRun) -> None:
        cluster = run.cluster
        await cluster.wait_until_converged(timeout_s=scaled(LIMIT_S))
        tree = await cluster.tree()
        seen.append((tree.epoch, sorted(tree.brokers), tree.partitions, cluster.zookeeper.connect_string))
        assert not await cluster.links.toxics("0", "1", "control")
        assert not await cluster.links.toxics("1", "zookeeper", "zk")
        assert all(len(cluster.sessions(node)) == 1 for node in cluster.nodes)
        assert "127.2.1.4" not in " ".join(cluster.links.map_for(0).values()), "it knows a node that is not there"
        seen.append(await cluster.add_node())
        await cluster.create_topic("orders", partitions=1, assignment={0: [len(cluster.nodes) - 1, 0]})
        await cluster.wait_until_converged(timeout_s=scaled(LIMIT_S))
        assert await cluster.leader(TopicPartition("orders", 0)) == len(cluster.nodes) - 1
        history = run.history()
        assert [event["epoch"] for event in history.of("controller.elected")] == [1]
        assert not [op for txn in history.of("zk.txn") for op in txn.get("ops", ()) if "left" in op.get("path", "")]

    runs = play(tmp_path, (2, leave_a_mess), (3, look), (2, look))
    (epoch, brokers, partitions, address), joined, (_, fewer, _, last_address), last_joined = seen
    assert (epoch, brokers, partitions, joined) == (1, [0, 1, 2], {}, 3)
    assert (fewer, last_joined) == ([0, 1], 2)
    assert address == last_address, "nothing was handed on"
    for run in runs:
        logs = run.directory / "logs"
        assert {*LOGS} < {path.name for path in logs.iterdir()}
        assert (logs / "zookeeper.log").read_text().count("binding to port") == (run is runs[0])
        first = (logs / "zookeeper.log").read_text().splitlines()
        assert all(line not in first for other in runs if other is not run for line in zookeeper_lines(other))
        assert run.history().of("zk.txn")


def zookeeper_lines(run: ProcessRun) -> list[str]:
    return [line for line in (run.directory / "logs" / "zookeeper.log").read_text().splitlines() if "session" in line]


def test_zookeeper_is_started_again_when_its_first_cluster_is_forgotten(tmp_path: Path) -> None:
    """Where that had its log: a test that has passed leaves nothing."""
    first: list[Path] = []

    async def begin(run: ProcessRun) -> None:
        first.append(run.directory)

    async def start_again(run: ProcessRun) -> None:
        shutil.rmtree(first[0])
        await run.cluster.zookeeper.kill(1)
        await run.cluster.zookeeper.restart(1)
        await run.cluster.wait_until_converged(timeout_s=scaled(LIMIT_S))

    _, second = play(tmp_path, (1, begin), (1, start_again))
    before, binding, _ = (second.directory / "logs" / "zookeeper.log").read_text().partition("binding to port")
    assert binding and "dump command" in before, "all that it said for this cluster"


def test_what_comes_after_a_cluster_is_not_in_its_history(tmp_path: Path) -> None:
    """Neither what the next one does, nor how ZooKeeper was made as new for it; and its links are not the next one's."""
    first: list[tuple[ProcessRun, str]] = []

    async def begin(run: ProcessRun) -> None:
        first.append((run, run.cluster.zookeeper.connect_string))

    async def go_on(run: ProcessRun) -> None:
        await run.cluster.create_topic("later", partitions=1)
        ((before, address),) = first
        assert run.cluster.zookeeper.connect_string == address, "nothing was handed on"
        txns = before.history().of("zk.txn")
        assert txns
        assert "later" not in str(txns)
        assert "delete" not in [op["type"] for txn in txns for op in txn.get("ops") or ()]
        with pytest.raises(EnvironmentFailure, match="stopped"):
            await before.cluster.cut("0", "1", "control")

    play(tmp_path, (2, begin), (2, go_on))


async def nothing(run: ProcessRun) -> None:
    """It starts, which is all."""


def of(addresses: list[str], spoil: Test) -> Test:
    async def test(run: ProcessRun) -> None:
        addresses.append(run.cluster.zookeeper.connect_string)
        await spoil(run)

    return test


def test_what_is_not_as_new_is_not_handed_on(tmp_path: Path) -> None:
    """A session that somebody has left open; a root that was written to; proxies or a ZooKeeper that have ended."""
    left = []

    async def leave_a_session(run: ProcessRun) -> None:
        left.append(await AdminSession.open(run.cluster.zookeeper.connect_string))

    async def write_to_the_root(run: ProcessRun) -> None:
        for session in left:
            with suppress(Exception):
                await session.close()
        await run.cluster.admin.submit(SetData("/", b"mine"))

    async def end_the_proxies(run: ProcessRun) -> None:
        assert run.cluster.links._process is not None
        await run.cluster.links._process.kill()

    addresses: list[str] = []
    spoils = (leave_a_session, write_to_the_root, end_the_proxies, nothing, nothing)
    play(tmp_path, *[(1, of(addresses, spoil)) for spoil in spoils])
    assert len({*addresses[:4]}) == 4
    assert addresses[3] == addresses[4]


def test_who_wrote_when_no_cluster_stood_there_is_found_out(tmp_path: Path) -> None:
    async def addresses() -> list[str]:
        grounds, found = Grounds(), []
        try:
            for number in range(2):
                run = new_run(ClusterSettings(nodes=1), tmp_path / str(number), grounds)
                await run.open()
                found.append(run.cluster.zookeeper.connect_string)
                await run.stop()
                run.close()
                client = await AdminSession.open(found[-1]) if not number else None
                if client is not None:
                    await client.session.submit(Create("/mine"))
                    await client.close()
        finally:
            await grounds.close()
        return found

    first, second = asyncio.run(addresses())
    assert first != second


def test_what_cannot_be_made_as_new_for_another_reason_is_ended(tmp_path: Path) -> None:
    """Even by a bug, or by a directory that cannot be removed: nothing of it runs on."""

    async def run_one() -> tuple[str | None, bool]:
        run = new_run(ClusterSettings(nodes=1), tmp_path, Grounds())
        await run.open()
        zookeeper, relays = run.cluster.zookeeper.servers[1], run.cluster.relays
        (run.cluster._work / "node-9").symlink_to(tmp_path)
        with pytest.raises(OSError, match="symbolic link"):
            await run.stop()
        run.close()
        return zookeeper.process_state(), relays.alive

    assert asyncio.run(run_one()) == (None, False)


def test_what_has_ended_meanwhile_is_not_taken_over(tmp_path: Path) -> None:
    async def two() -> list[str]:
        grounds, addresses = Grounds(), []
        try:
            for number in range(2):
                run = new_run(ClusterSettings(nodes=1), tmp_path / str(number), grounds)
                await run.open()
                addresses.append(run.cluster.zookeeper.connect_string)
                zookeeper = run.cluster.zookeeper
                await run.stop()
                run.close()
                await zookeeper.stop()
        finally:
            await grounds.close()
        return addresses

    first, second = asyncio.run(two())
    assert first != second


def test_who_chooses_other_proxies_gets_no_former_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or another ZooKeeper or Java: what says so is in the environment."""
    seen = []

    async def choose(run: ProcessRun) -> None:
        seen.append(run.cluster.zookeeper.connect_string)
        monkeypatch.setenv("KCONTROLLER_TOXIPROXY", "embedded")

    play(tmp_path, (1, choose), (1, choose), (1, choose))
    assert seen[0] != seen[1] == seen[2]


def test_proxies_draw_from_the_seed_of_their_cluster_also_those_that_were_handed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the embedded server: the seed of the real one has no effect."""
    monkeypatch.setenv("KCONTROLLER_TOXIPROXY", "embedded")
    seen: list[tuple[str, str]] = []

    async def draw(run: ProcessRun) -> None:
        with closing(Upstream()) as upstream:
            found = await in_thread(lambda: drawn(run.cluster.links._client, upstream))
        seen.append((run.cluster.zookeeper.connect_string, found))

    play(tmp_path, (1, draw), (1, draw), (1, draw), seeds=(7, 7, 8))
    first, again, other = (address for address, _ in seen)
    assert first == again == other, "nothing was handed on"
    assert [found for _, found in seen] == [drawn_from(7), drawn_from(7), drawn_from(8)]
