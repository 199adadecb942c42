"""The fixtures zookeeper and zk, on a real server."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentError_, UsageError
from pytest_kcontroller.loop_thread import LoopThread
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.zookeeper_fixture import TestZooKeeper

LIMIT_S = 20


@pytest.fixture
def straight(zookeeper: TestZooKeeper) -> Any:
    client = KazooClient(zookeeper.connect_string)
    client.start(timeout=scaled(LIMIT_S))
    yield client
    client.stop()
    client.close()


def test_zk_is_a_started_client_in_a_chroot_of_the_test(zk: KazooClient, straight: KazooClient) -> None:
    zk.create("/mine", b"1")
    assert straight.get("/mine")[0] == b"1"
    assert straight.chroot.startswith("/kc-")


def test_two_views_see_nothing_of_each_other_and_the_chroot_goes(
    zookeeper: TestZooKeeper, zk: KazooClient, _kc_loop: LoopThread, _kc_zookeeper_server: Address
) -> None:
    zk.create("/mine", b"1")
    other = TestZooKeeper(_kc_loop, _kc_zookeeper_server)
    other.client().create("/a/b", b"", makepath=True)
    assert zk.exists("/a") is None
    admin = KazooClient(str(_kc_zookeeper_server))
    admin.start(timeout=scaled(LIMIT_S))
    try:
        assert admin.exists(other.chroot + "/a/b")
        other.close()
        assert admin.exists(other.chroot) is None
        assert admin.exists(zookeeper.chroot + "/mine")
    finally:
        admin.stop()
        admin.close()


@pytest.mark.parametrize("mode", ["server", "client", "natural"])
def test_expire_ends_the_session_and_its_ephemerals(zookeeper: TestZooKeeper, straight: KazooClient, mode: Any) -> None:
    client = zookeeper.client(timeout_s=1)
    client.create("/mine", ephemeral=True)
    gone, back = threading.Event(), threading.Event()
    assert straight.exists("/mine", watch=lambda _: gone.set())
    session = client.client_id[0]
    client.add_listener(lambda state: back.set() if state == "CONNECTED" else None)
    assert zookeeper.expire(client, mode=mode) == session
    assert gone.wait(scaled(LIMIT_S))
    assert back.wait(scaled(LIMIT_S)) or client.connected
    with pytest.raises(NoNodeError):
        client.retry(client.get, "/mine")
    assert client.client_id[0] != session


def test_expire_says_what_is_wrong(zookeeper: TestZooKeeper, straight: KazooClient) -> None:
    with pytest.raises(UsageError, match="server, client, natural"):
        zookeeper.expire(straight, mode="soon")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"only a client that zookeeper\.client\(\) made"):
        zookeeper.expire(straight, mode="natural")
    zookeeper.expire(straight, mode="server")
    with pytest.raises(UsageError, match="no session"):
        zookeeper.expire(KazooClient(zookeeper.connect_string))


def test_a_server_that_is_not_there_is_an_environment_error(
    _kc_loop: LoopThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_kcontroller.zookeeper_fixture.START_S", 0.3)
    with pytest.raises(EnvironmentError_, match=r"127\.0\.0\.1:1: no ZooKeeper session within"):
        TestZooKeeper(_kc_loop, Address("127.0.0.1", 1))
