"""What such a project does with the fixtures: a cluster with its own selector, and a service of its own on ZooKeeper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_kcontroller.fixtures.kcluster import KCluster
    from pytest_kcontroller.fixtures.zookeeper import TestZooKeeper


@pytest.mark.kcontroller(nodes=3, session_timeout_ms=1000, selectors={"offline": "last-in-sync"})
def test_our_selector_decides(kcluster: KCluster) -> None:
    kcluster.create_topic("orders", assignment={0: (0, 1, 2)})
    kcluster.wait_until_converged()
    kcluster.kill(0)
    kcluster.wait_until_converged()
    (partition,) = kcluster.describe()["partitions"]  # type: ignore[misc]
    assert partition["leader"] == 2
    kcluster.restart(0)
    kcluster.wait_until_converged()


def test_our_service_registers_again(zookeeper: TestZooKeeper, zk: Any) -> None:
    service = zookeeper.client()
    service.create("/service", ephemeral=True)
    zookeeper.expire(service)
    assert zk.exists("/service") is None


def test_our_proxy(toxiproxy: Any) -> None:
    proxy = toxiproxy.create(name="db", upstream="127.0.0.1:1", listen="127.0.0.1:0")
    assert list(toxiproxy.proxies()) == [proxy.name]
