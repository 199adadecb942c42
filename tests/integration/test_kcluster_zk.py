"""The fixture `zk`: kazoo's client, its answers, exceptions and watches, on every backend (test_kcluster_sim.py)."""

from __future__ import annotations

from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import (
    BadVersionError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    RuntimeInconsistency,
)
from kazoo.protocol.states import EventType, KazooState

from pytest_kcontroller.kcluster import KCluster

LIMIT_S = 20


class Seen:
    """What a watch was called with; `wait` until it was."""

    def __init__(self, zk: KazooClient) -> None:
        self.events: list[Any] = []
        self._event = zk.handler.event_object()

    def __call__(self, event: Any) -> None:
        self.events.append(event)
        self._event.set()

    def wait(self) -> list[Any]:
        assert self._event.wait(LIMIT_S)
        self._event.clear()
        return self.events


def test_znodes_are_made_read_changed_and_deleted(zk: KazooClient) -> None:
    assert zk.get_children("/") == []
    assert zk.create("/a", b"12345") == "/a"
    assert zk.create("/a/b/c", b"", makepath=True) == "/a/b/c"
    assert zk.create("/a/n-", sequence=True) == "/a/n-0000000001"
    data, stat = zk.get("/a")
    assert (data, stat.version, stat.dataLength, stat.numChildren, stat.ephemeralOwner) == (b"12345", 0, 5, 2, 0)
    assert zk.set("/a", b"123").dataLength == 3
    found = zk.exists("/a")
    assert found is not None
    assert (found.version, found.dataLength) == (1, 3)
    assert zk.exists("/nothing") is None
    assert sorted(zk.get_children("/a")) == ["b", "n-0000000001"]
    names, stat = zk.get_children("/a", include_data=True)
    assert (sorted(names), stat.dataLength) == (["b", "n-0000000001"], 3)
    assert zk.ensure_path("/x/y/z")
    assert zk.delete("/x/y/z") is True
    zk.delete("/a", recursive=True)
    assert zk.get_children("/") == ["x"]


def test_an_ephemeral_belongs_to_the_session(zk: KazooClient) -> None:
    zk.create("/mine", ephemeral=True)
    assert zk.client_id is not None
    assert zk.get("/mine")[1].ephemeralOwner == zk.client_id[0]
    assert zk.connected
    assert zk.state == KazooState.CONNECTED


def test_what_zookeeper_refuses_is_kazoos_exception(zk: KazooClient) -> None:
    with pytest.raises(NoNodeError):
        zk.get("/nothing")
    with pytest.raises(NoNodeError):
        zk.create("/nothing/below")
    zk.create("/a/b", makepath=True)
    with pytest.raises(NodeExistsError):
        zk.create("/a")
    with pytest.raises(NotEmptyError):
        zk.delete("/a")
    with pytest.raises(BadVersionError):
        zk.set("/a/b", b"", version=7)
    with pytest.raises(TypeError, match="byte string"):
        zk.set("/a", "text")  # type: ignore[arg-type]


def test_a_transaction_is_done_as_a_whole(zk: KazooClient) -> None:
    zk.create("/a", b"1")
    whole = zk.transaction()
    whole.check("/a", 0)
    whole.create("/b", b"2", sequence=True)
    whole.set_data("/a", b"22")
    whole.delete("/a", 1)
    checked, made, changed, deleted = whole.commit()
    assert (checked, made, changed.version, changed.dataLength, deleted) == (True, "/b0000000001", 1, 2, True)
    failing = zk.transaction()
    failing.create("/c")
    failing.delete("/nothing")
    failing.create("/d")
    assert [type(result) for result in failing.commit()] == [RolledBackError, NoNodeError, RuntimeInconsistency]
    assert zk.exists("/c") is None


def test_a_watch_is_called_once_and_says_what_happened(zk: KazooClient) -> None:
    data, children, exists = Seen(zk), Seen(zk), Seen(zk)
    zk.create("/a")
    zk.get("/a", watch=data)
    zk.get_children("/a", watch=children)
    assert zk.exists("/a/b", watch=exists) is None
    zk.create("/a/b")
    assert [(event.type, event.path) for event in children.wait()] == [(EventType.CHILD, "/a")]
    assert [(event.type, event.path) for event in exists.wait()] == [(EventType.CREATED, "/a/b")]
    zk.set("/a", b"1")
    zk.set("/a", b"2")
    assert [(event.type, event.path) for event in data.wait()] == [(EventType.CHANGED, "/a")]
    zk.get_children("/a", watch=children)
    zk.delete("/a", recursive=True)
    assert children.wait()[1].type in (EventType.CHILD, EventType.DELETED)


def test_a_watch_may_ask_zookeeper_itself(zk: KazooClient) -> None:
    found = Seen(zk)

    def ask(event: Any) -> None:
        zk.create("/deep/er", makepath=True)
        found(zk.get(event.path)[0])

    zk.create("/a")
    zk.get("/a", watch=ask)
    zk.set("/a", b"new")
    assert found.wait() == [b"new"]
    assert zk.exists("/deep/er")


def test_recipes_work(zk: KazooClient) -> None:
    seen, names = Seen(zk), Seen(zk)
    zk.create("/a", b"1")
    zk.DataWatch("/a", lambda data, stat: seen(data))
    zk.ChildrenWatch("/a", names)
    assert seen.wait() == [b"1"]
    assert names.wait() == [[]]
    zk.set("/a", b"2")
    assert seen.wait() == [b"1", b"2"]
    zk.create("/a/b")
    assert names.wait() == [[], ["b"]]
    with zk.Lock("/lock", "me"):
        assert zk.get("/lock/" + zk.get_children("/lock")[0])[0] == b"me"


def test_zk_has_a_place_of_its_own_beside_kcluster(zk: KazooClient, kcluster: KCluster) -> None:
    zk.create("/controller", b"mine")
    assert kcluster.zk.get("/controller")[0] != b"mine"
    gone = Seen(kcluster.zk)
    kcluster.zk.get("/controller", watch=gone)
    kcluster.kill(kcluster.controller)
    assert [event.type for event in gone.wait()] == [EventType.DELETED]
