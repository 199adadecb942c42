"""The fixture `kcluster`, used as in anybody's test suite."""

from __future__ import annotations

import pytest

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
    assert len(kcluster.bootstrap_servers.split(",")) == 3
    kcluster.check()


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


def test_check_says_what_is_wrong(kcluster: KCluster) -> None:
    kcluster.create_topic("orders", partitions=1, replication_factor=3)
    kcluster.wait_until_converged()
    path = "/brokers/topics/orders/partitions/0/state"
    kcluster.zk.set(path, b'{"controller_epoch":1,"leader":0,"version":1,"leader_epoch":9,"isr":[1]}')
    with pytest.raises(AssertionError, match="leader-in-isr"):
        kcluster.check()
    assert kcluster.zk.exists(CONTROLLER)
