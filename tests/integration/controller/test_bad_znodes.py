"""Znodes that nobody can understand, anywhere: each costs only itself, and everything else goes on.

Whatever is written, the controller may change, or lead what it can; what must not be is that a node ends, that nobody is the
controller, or that a topic which has nothing to do with it is left without a leader or cannot be made.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.sim.cluster import SimCluster
from pytest_kcontroller.cluster.timing import unscaled
from pytest_kcontroller.fixtures.kcluster import KCluster
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.runtime.scheduler import Scheduler
from pytest_kcontroller.sim.world import World
from pytest_kcontroller.zookeeper.session import Create, NodeExistsError, NoNodeError, SetData, ZkSession

VICTIM, HEALTHY, AFTER = "victim", "healthy", "after"
STATE = {"controller_epoch": 1, "leader": 1, "version": 1, "leader_epoch": 0, "isr": [1, 2]}
TOPIC = {"version": 3, "partitions": {"0": [0, 1]}, "adding_replicas": {}, "removing_replicas": {}}
BROKER = {
    "version": 5, "host": "127.0.0.1", "port": 9, "jmx_port": -1, "timestamp": "1", "endpoints": ["PLAINTEXT://127.0.0.1:9"],
    "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"}, "features": {}, "rack": "r",
}  # fmt: skip
NAMED: dict[str, Any] = {"version": 1, "partitions": [{"topic": VICTIM, "partition": 0}]}
CONFIG = {"version": 1, "config": {"unclean.leader.election.enable": "true"}}

PLACES: dict[str, dict[str, Any]] = {
    f"/brokers/topics/{VICTIM}": TOPIC,
    f"/brokers/topics/{VICTIM}/partitions/0/state": STATE,
    "/brokers/topics/foreign": TOPIC,
    "/brokers/topics/no good name": TOPIC,
    "/brokers/ids/77": BROKER,
    "/brokers/ids/x": BROKER,
    "/admin/reassign_partitions": {"version": 1, "partitions": [{"topic": VICTIM, "partition": 0, "replicas": [1, 0]}]},
    "/admin/preferred_replica_election": NAMED,
    "/admin/delete_topics/foreign": {},
    "/isr_change_notification/isr_change_0000000777": NAMED,
    "/isr_change_notification/foreign": NAMED,
    "/log_dir_event_notification/log_dir_event_0000000777": {"version": 1, "broker": 1, "event": 1},
    f"/config/topics/{VICTIM}": CONFIG,
    "/config/brokers/<default>": CONFIG,
    "/config/brokers/x": CONFIG,
    "/config/changes/config_change_0000000777": {"version": 2, "entity_path": f"topics/{VICTIM}"},
    "/config/changes/config_change_x": {"version": 1, "entity_type": "topics", "entity_name": VICTIM},
}
"""Path -> what Kafka would write there."""

VALUES: tuple[Any, ...] = (
    *(None, True, -1, -2, 0, 77, 2**31 - 1, 2**31, -(2**31), 2**63, 1.5),
    *("", "0", "x", "..", "a/b", "\ud800", "\x00", "9" * 5000),
    *([], {}, [[]], [-1], [77], [0, 0], [1, 77], ["1"]),
    *({"0": None}, {"-1": [0]}, {"x": [0]}, {"0": [0, 0]}, {"0": [-1]}, {"0": [77]}),
)
RAW = (
    *(b"", b"\x00", b"{", b"\xff\xfe", b"[]", b"{}", b"null", b"NaN", b"Infinity", b'"x"', b"1e999"),
    *(b"[" * 50_000, b"7" * 5000),
)


def _places_in(value: Any) -> list[tuple[Any, Any]]:
    """Every container of a document with every key of its."""
    found: list[tuple[Any, Any]] = []
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in list(children):
        found += [(value, key), *_places_in(child)]
    return found


@st.composite
def bad_znodes(draw: st.DrawFn) -> tuple[str, bytes]:
    path = draw(st.sampled_from(sorted(PLACES)))
    if draw(st.booleans()):
        return path, draw(st.sampled_from(RAW))
    document = deepcopy(PLACES[path])
    for _ in range(draw(st.integers(1, 2))):
        if not (places := _places_in(document)):
            break
        container, key = places[draw(st.integers(0, len(places) - 1))]
        if draw(st.booleans()) and isinstance(container, dict):
            del container[key]
        else:
            container[key] = deepcopy(draw(st.sampled_from(VALUES)))
    return path, json.dumps(document).encode()


async def put(session: ZkSession, path: str, data: bytes) -> None:
    """Whether it is there or not, with what is missing above it."""
    for end in (at for at, char in enumerate(path) if char == "/" and at):
        try:
            await session.submit(Create(path[:end], b""))
        except NodeExistsError:
            continue
    try:
        await session.submit(Create(path, data))
    except NodeExistsError:
        try:
            await session.submit(SetData(path, data))
        except NoNodeError:
            return  # somebody was quicker; what is gone is not corrupt


async def led(cluster: SimCluster, topic: str) -> str | None:
    for tp in (TopicPartition(topic, 0), TopicPartition(topic, 1)):
        if (leader := await cluster.leader(tp)) not in cluster.running:
            return f"{tp} is led by {leader}"
    return None


async def everything_else_goes_on(cluster: SimCluster, znodes: list[tuple[str, bytes]]) -> None:
    write = partial(put, cluster.admin)
    for path, data in znodes:
        await write(path, data)
    leader = await cluster.leader(TopicPartition(HEALTHY, 0))
    assert leader is not None
    await cluster.kill(leader)
    await cluster.wait_until("healthy is led", partial(led, cluster, HEALTHY), timeout_s=30)
    await cluster.restart(leader)
    old = await cluster.wait_for_controller(timeout_s=30)
    await cluster.kill(old)
    await cluster.wait_for_controller(other_than=old, timeout_s=30)
    await cluster.create_topic(AFTER, assignment={0: (0, 1, 2), 1: (1, 2, 0)})
    await cluster.wait_until("after is led", partial(led, cluster, AFTER), timeout_s=30)
    await cluster.wait_until("healthy is led", partial(led, cluster, HEALTHY), timeout_s=30)
    await cluster.restart(old)
    assert cluster.running == (0, 1, 2)


def in_world(script: Callable[[SimCluster], Any]) -> list[int]:
    """Runs `script` on three simulated nodes with two topics; the statuses of nodes that ended by themselves."""
    with tempfile.TemporaryDirectory() as directory, Scheduler() as scheduler, unscaled():
        world, loop = World(scheduler, 1), scheduler.process("test")
        ended: list[int] = []

        async def live() -> None:
            wanted = ClusterSettings(nodes=3, session_timeout_ms=1000)
            cluster = await SimCluster.start(
                world, wanted, Path(directory), on_exit=lambda _, status: ended.append(status), loop=loop
            )
            for topic in (VICTIM, HEALTHY):
                await cluster.create_topic(topic, assignment={0: (0, 1, 2), 1: (1, 2, 0)})
            await cluster.wait_until_converged(timeout_s=10)
            await script(cluster)
            await cluster.stop()

        scheduler.run_until_complete(loop.create_task(live(), name="test"))
    return ended


REAL = (
    ("/admin/reassign_partitions", b"[" * 50_000),
    ("/admin/preferred_replica_election", b'{"version": 1, "partitions": [{"topic": "victim", "partition": -1}]}'),
    ("/admin/delete_topics/foreign", b""),
    (f"/brokers/topics/{VICTIM}", b'{"version": 3, "partitions": {"0": ["x"]}}'),
    (f"/brokers/topics/{VICTIM}/partitions/1/state", b"null"),
    ("/brokers/topics/no good name", b"\xff"),
    ("/brokers/ids/77", b"{}"),
    ("/isr_change_notification/isr_change_0000000777", b"1e999"),
    ("/log_dir_event_notification/log_dir_event_0000000777", b'{"version": 1, "broker": "x"}'),
    ("/config/topics/healthy", b"7" * 5000),
    ("/config/changes/config_change_0000000777", b'{"version": 2, "entity_path": 7}'),
)
"""One of each place, all at once."""


@pytest.mark.kcontroller(session_timeout_ms=1000)
def test_everything_else_goes_on_in_a_real_cluster(kcluster: KCluster) -> None:
    for topic in (VICTIM, HEALTHY):
        kcluster.create_topic(topic, partitions=2, replication_factor=3)
    kcluster.wait_until_converged()
    for path, data in REAL:
        kcluster.zk.ensure_path(path.rpartition("/")[0])
        if kcluster.zk.exists(path):
            kcluster.zk.set(path, data)
        else:
            kcluster.zk.create(path, data)
    old = kcluster.controller
    kcluster.kill(old)
    kcluster.wait_for_controller(other_than=old)
    kcluster.create_topic(AFTER, partitions=2, replication_factor=2)
    kcluster.wait_until_online(HEALTHY)
    kcluster.wait_until_online(AFTER)
    said = {event["error"].split(": ")[0] for event in kcluster.history if event["kind"] == "controller.event-failed"}
    assert {"znode /brokers/ids/77", "znode /brokers/topics/no good name", f"znode /brokers/topics/{VICTIM}"} <= said
    kcluster.restart(old)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.lists(bad_znodes(), min_size=1, max_size=4))
def test_everything_else_goes_on(znodes: list[tuple[str, bytes]]) -> None:
    ended = in_world(partial(everything_else_goes_on, znodes=znodes))
    assert set(ended) <= {-9, 0}
