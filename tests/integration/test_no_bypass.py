"""Whatever a node connects to is a proxy: else a fault on a link could be passed by."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psutil

from pytest_kcontroller.cluster.cluster import ClusterSettings, ProcessCluster
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.model.cluster import Address


def opened_by(pid: int) -> list[Address]:
    """Remote ends of the established connections that a process opened: not those that its own listeners accepted."""
    connections = psutil.Process(pid).net_connections(kind="tcp")
    listening = {c.laddr.port for c in connections if c.status == psutil.CONN_LISTEN}
    return [
        Address(c.raddr.ip, c.raddr.port)
        for c in connections
        if c.status == psutil.CONN_ESTABLISHED and c.laddr.port not in listening
    ]


def test_every_connection_of_every_node_ends_at_a_proxy(tmp_path: Path) -> None:
    async def run() -> None:
        cluster = await ProcessCluster.start(ClusterSettings(nodes=3), tmp_path)
        try:
            await cluster.create_topic("orders", partitions=6, replication_factor=3)
            await cluster.wait_until_converged(timeout_s=scaled(10))
            controller = await cluster.controller()
            for node in cluster.nodes:
                pid = cluster.process(node).pid
                assert pid is not None
                ends = opened_by(pid)
                bypass = [str(end) for end in ends if end not in cluster.links.addresses]
                assert not bypass, f"node {node} is connected past the proxies with {bypass}"
                hosts = sorted({end.host for end in ends})
                assert f"127.1.{node + 1}.250" in hosts, "it has a session, so it is connected with ZooKeeper's proxy"
                if node == controller:
                    assert [f"127.2.{node + 1}.{other + 1}" for other in cluster.nodes] == hosts[1:]
        finally:
            await cluster.stop()

    asyncio.run(run())
