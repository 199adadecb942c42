"""The fixture toxiproxy: the unmodified client, and a proxy in front of a real ZooKeeper."""

from __future__ import annotations

from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.handlers.threading import KazooTimeoutError

from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.zookeeper_fixture import TestZooKeeper


def test_a_proxy_in_front_of_zookeeper_passes_and_when_disabled_refuses(
    toxiproxy: Any, zookeeper: TestZooKeeper
) -> None:
    proxy = toxiproxy.create(upstream=str(zookeeper.server), name="zookeeper")
    client = KazooClient(proxy.listen + zookeeper.chroot)
    try:
        client.start(timeout=scaled(15))
        client.create("/through", b"")
        assert zookeeper.client().exists("/through")
        client.stop()
        proxy.disable()
        with pytest.raises(KazooTimeoutError):
            client.start(timeout=1)
    finally:
        client.stop()
        client.close()


def test_each_test_has_a_server_of_its_own(toxiproxy: Any) -> None:
    assert toxiproxy.running()
    assert toxiproxy.proxies() == {}
