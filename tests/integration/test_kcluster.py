"""The fixture `kcluster`, used as in anybody's test suite: on every backend (test_kcluster_sim.py runs this file too)."""

from __future__ import annotations

import json

import pytest

from pytest_kcontroller.errors import EnvironmentError_, UsageError
from pytest_kcontroller.kcluster import KCluster
from pytest_kcontroller.zookeeper.znodes import CONTROLLER


@pytest.mark.kcontroller(nodes=3)
def test_failover(kcluster: KCluster) -> None:
    kcluster.create_topic("orders", partitions=6, replication_factor=3)
    kcluster.wait_until_converged()
    old = kcluster.controller
    assert old is not None
    kcluster.kill(old)
    assert kcluster.wait_for_controller(other_than=old) != old
    kcluster.restart(old)
    kcluster.wait_until_converged()
    assert kcluster.controller_epoch == 2
    kcluster.check()


@pytest.mark.kcontroller(backends=["process"])
def test_clients_find_the_running_nodes(kcluster: KCluster) -> None:
    kcluster.stop(2)
    assert len(kcluster.bootstrap_servers.split(",")) == 2


@pytest.mark.parametrize("mode", ["server", "natural"])
def test_an_expired_controller_is_replaced_or_re_elected(kcluster: KCluster, mode: str) -> None:
    kcluster.create_topic("orders", partitions=2, replication_factor=2)
    kcluster.wait_until_converged()
    old = kcluster.controller
    assert old is not None
    kcluster.expire_session(old, mode)  # type: ignore[arg-type]
    kcluster.wait_until_converged()
    assert kcluster.controller_epoch >= 2
    kcluster.check()


@pytest.mark.kcontroller(session_timeout_ms=1000)
def test_a_controller_that_is_paused_or_cut_off_is_replaced(kcluster: KCluster) -> None:
    assert kcluster.session_timeout_ms == 1000
    kcluster.create_topic("orders", partitions=3, replication_factor=3)
    first = kcluster.controller
    kcluster.pause(first)
    second = kcluster.wait_for_controller(other_than=first)
    kcluster.resume(first)
    kcluster.wait_until_converged()
    kcluster.net.cut(second, "zookeeper")
    third = kcluster.wait_for_controller(other_than=second)
    kcluster.net.heal()
    kcluster.wait_until_converged()
    assert third != second
    assert kcluster.controller_epoch == 3
    kcluster.check()


def test_a_node_that_is_stopped_leaves_politely(kcluster: KCluster) -> None:
    kcluster.create_topic("orders", assignment={0: (1, 0), 1: (1, 2)})
    kcluster.wait_until_converged()
    other = next(node for node in kcluster.nodes if node not in (1, kcluster.controller))
    kcluster.stop(other)
    assert kcluster.describe()["brokers"] == sorted({0, 1, 2} - {other})
    kcluster.restart(other)
    kcluster.wait_until_converged()
    kcluster.wait_until_online("orders")


def _closed(kcluster: KCluster, node: int) -> tuple[int, bool]:
    """The zxid at which the node's last session ended, and whether its client closed it."""
    sessions = [e["session"] for e in kcluster.khistory.of("zk.state") if e["writer"] == f"node-{node}"]
    (end,) = [
        e for e in kcluster.khistory.of("zk.txn") if e["type"] == "close-session" and e["session"] == sessions[-1]
    ]
    return end["zxid"], end["cxid"] != 0


def _states(kcluster: KCluster) -> dict[str, list[tuple[int, int]]]:
    """Path of a partition's state -> (zxid, leader) of each write."""
    found: dict[str, list[tuple[int, int]]] = {}
    for txn in kcluster.khistory.of("zk.txn"):
        for op in txn.get("ops", []):
            if op["type"] in ("create", "set") and op["path"].endswith("/state"):
                found.setdefault(op["path"], []).append((txn["zxid"], json.loads(op["data"])["leader"]))
    return found


@pytest.mark.parametrize("who", ["a leader", "the controller"])
def test_others_lead_before_the_session_of_a_stopped_leader_ends(kcluster: KCluster, who: str) -> None:
    kcluster.create_topic("orders", partitions=6, replication_factor=3)
    kcluster.wait_until_converged()
    controller = kcluster.controller
    node = controller if who == "the controller" else next(n for n in kcluster.nodes if n != controller)
    assert any(leaders[-1][1] == node for leaders in _states(kcluster).values())
    kcluster.stop(node)
    kcluster.wait_for_controller()
    end, by_client = _closed(kcluster, node)
    assert by_client
    for path, leaders in _states(kcluster).items():
        assert -1 not in [leader for _, leader in leaders], path
        assert [leader for zxid, leader in leaders if zxid < end][-1] != node, path
    (said,) = kcluster.khistory.of("broker.controlled-shutdown")
    assert (said["done"], said["tries"], said["remaining"], said["why"]) == (True, 1, [], None)
    kcluster.restart(node)
    kcluster.wait_until_converged()
    kcluster.check()


def test_the_last_in_sync_replica_stops_all_the_same(kcluster: KCluster) -> None:
    kcluster.create_topic("orders", assignment={0: (1, 2)})
    kcluster.wait_until_converged()
    kcluster.stop(2)
    kcluster.stop(1)
    first, last = sorted(kcluster.khistory.of("broker.controlled-shutdown"), key=lambda e: e["t_us"])
    assert first["done"]
    assert (last["done"], last["tries"], last["remaining"]) == (False, 3, ["orders-0"])
    assert last["why"] == "nobody else can lead what remains"
    for node in (1, 2):
        kcluster.restart(node)
    kcluster.wait_until_converged()
    kcluster.check()


def test_a_node_that_reaches_no_controller_stops_all_the_same(kcluster: KCluster) -> None:
    kcluster.wait_until_converged()
    controller = kcluster.controller
    node = next(n for n in kcluster.nodes if n != controller)
    kcluster.net.cut(node, controller)
    kcluster.stop(node)
    _, by_client = _closed(kcluster, node)
    assert by_client
    (said,) = kcluster.khistory.of("broker.controlled-shutdown")
    assert (said["done"], said["tries"]) == (False, 3)
    assert "did not answer" in said["why"]


@pytest.mark.kcontroller(config={"controlled.shutdown.enable": False})
def test_a_node_need_not_ask(kcluster: KCluster) -> None:
    kcluster.stop(1)
    assert not kcluster.khistory.of("broker.controlled-shutdown")
    assert 1 not in kcluster.describe()["brokers"]  # type: ignore[operator]


def test_check_says_what_is_wrong(kcluster: KCluster) -> None:
    kcluster.create_topic("orders", partitions=1, replication_factor=3)
    kcluster.wait_until_converged()
    path = "/brokers/topics/orders/partitions/0/state"
    kcluster.zk.set(path, b'{"controller_epoch":1,"leader":0,"version":1,"leader_epoch":9,"isr":[1]}')
    with pytest.raises(AssertionError, match="leader-in-isr"):
        kcluster.check()
    assert kcluster.zk.exists(CONTROLLER)


def test_what_does_not_come_or_does_not_exist_is_said(kcluster: KCluster) -> None:
    only = kcluster.controller
    with pytest.raises(
        EnvironmentError_, match=rf"a controller other than node {only} is elected: /controller names {only}"
    ):
        kcluster.wait_for_controller(other_than=only, timeout_s=0.2)
    with pytest.raises(UsageError, match="there is no node 9"):
        kcluster.net.cut(9, "zookeeper")
    with pytest.raises(EnvironmentError_, match="there is no node 9"):
        kcluster.kill(9)
    kcluster.create_topic("orders")
    with pytest.raises(UsageError, match="orders"):
        kcluster.create_topic("orders")


def test_the_history_has_what_the_test_did_and_what_came_of_it(kcluster: KCluster) -> None:
    kcluster.create_topic("orders")
    history = kcluster.history
    assert [event["action"] for event in history if event["kind"] == "test.action"] == ["create_topic"]
    assert any(event["kind"] == "zk.txn" and event["writer"] == "zookeeper" for event in history)
    times = [event["t_us"] for event in history]
    assert times == sorted(times)
    (title, text), *_ = kcluster.last_moments()
    assert "the last moments" in title
    assert "the test: create_topic orders" in text
