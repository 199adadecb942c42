"""The nodes' sessions as they pass their links: on every backend the same, whatever a node says of itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_kcontroller.cluster.capabilities import OPTIONAL, REPORTS
from pytest_kcontroller.cluster.contract import ZOOKEEPER, Cluster, NodeSession
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure, NotOnThisBackend
from tests.integration.cluster.conftest import not_in_containers

LIMIT_S = 20
ASKED_MS = 90_000
"""More than any ZooKeeper of ours grants. (With less than that it would grant so little that a busy machine loses it.)"""
GRANTED_MS = 60_000


async def changes(cluster: Cluster, node: int, what: Callable[[NodeSession | None], bool]) -> NodeSession | None:
    async def check() -> str | None:
        found = cluster.session(node)
        return None if what(found) else f"its session is {found}"

    await cluster.wait_until(f"the session of node {node} changes", check, timeout_s=scaled(LIMIT_S))
    return cluster.session(node)


@not_in_containers([REPORTS])
def test_the_session_is_what_zookeeper_granted_and_the_node_reports(on_backend: Any) -> None:
    async def script(cluster: Cluster) -> None:
        for node in cluster.nodes:
            session, status = cluster.session(node), await cluster.capability(REPORTS).status(node)
            assert session is not None and status is not None
            assert session.connected
            assert session.session_id == status.session == await cluster.broker_owner(node)
            assert session.timeout_ms == GRANTED_MS
            assert len(session.password) == 16
            assert cluster.sessions(node) == (session,)

    on_backend(script, session_timeout_ms=ASKED_MS)


@not_in_containers()
def test_an_expired_session_is_followed_by_another_one(on_backend: Any) -> None:
    async def script(cluster: Cluster) -> None:
        old = cluster.session(1)
        assert old is not None
        assert await cluster.expire_session_server(1) == old.session_id
        new = await changes(cluster, 1, lambda now: now is not None and now.session_id != old.session_id)
        assert new is not None and new.connected
        ids = [session.session_id for session in cluster.sessions(1)]
        assert ids == [old.session_id, new.session_id]
        assert not cluster.sessions(1)[0].connected

    on_backend(script, session_timeout_ms=6000)


def test_a_cluster_has_what_the_registry_says(on_backend: Any) -> None:
    async def script(cluster: Cluster) -> None:
        lacks = on_backend.backend.lacks
        assert tuple(capability for capability in OPTIONAL if not cluster.has(capability)) == lacks
        for capability in lacks:
            with pytest.raises(NotOnThisBackend, match=f"this backend has no {capability.name}"):
                cluster.capability(capability)

    on_backend(script)


@not_in_containers()
def test_a_reset_link_costs_the_connection_and_not_the_session(on_backend: Any) -> None:
    async def script(cluster: Cluster) -> None:
        old = cluster.session(0)
        assert old is not None
        await cluster.cut(
            "0", ZOOKEEPER, "zk"
        )  # nothing gets through to a new connection, so that nobody can miss its lack
        await cluster.reset("0", ZOOKEEPER, "zk")
        await changes(cluster, 0, lambda now: now is not None and not now.connected)
        await cluster.heal("0", ZOOKEEPER, "zk")
        await changes(cluster, 0, lambda now: now == old)
        assert [session.session_id for session in cluster.sessions(0)] == [old.session_id]

    on_backend(script, session_timeout_ms=10_000)


@not_in_containers()
def test_who_is_cut_off_is_not_connected_once_it_gives_the_connection_up(on_backend: Any) -> None:
    async def script(cluster: Cluster) -> None:
        old = cluster.session(0)
        assert old is not None
        await cluster.cut("0", ZOOKEEPER, "zk")
        await changes(cluster, 0, lambda now: now is not None and not now.connected)
        await cluster.heal("0", ZOOKEEPER, "zk")
        await changes(cluster, 0, lambda now: now is not None and now.connected)

    on_backend(script, session_timeout_ms=2000)


def test_a_node_that_has_ended_has_none_and_a_new_process_has_its_own(on_backend: Any) -> None:
    async def script(cluster: Cluster) -> None:
        old = cluster.session(1)
        assert old is not None
        await cluster.kill(1)
        assert cluster.session(1) is None
        with pytest.raises(EnvironmentFailure, match="node 1 has no session that could be closed"):
            await cluster.expire_session_server(1)
        assert [session.session_id for session in cluster.sessions(1)] == [old.session_id]
        await cluster.restart(1)
        new = cluster.session(1)
        assert new is not None and new.session_id != old.session_id
        assert await cluster.broker_owner(1) == new.session_id

    on_backend(script, session_timeout_ms=6000)
