"""Whatever a node connects to is a proxy: else a fault on a link could be passed by."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.process.cluster import ProcessCluster
from pytest_kcontroller.cluster.process.connections import established
from pytest_kcontroller.cluster.timing import scaled


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
                ends = [remote for _, remote in established(pid)]
                bypass = [str(end) for end in ends if end not in cluster.links.addresses]
                assert not bypass, f"node {node} is connected past the proxies with {bypass}"
                hosts = sorted({end.host for end in ends})
                assert f"127.1.{node + 1}.250" in hosts, "it has a session, so it is connected with ZooKeeper's proxy"
                if node == controller:
                    assert [f"127.2.{node + 1}.{other + 1}" for other in cluster.nodes] == hosts[1:]
        finally:
            await cluster.stop()

    asyncio.run(run())
