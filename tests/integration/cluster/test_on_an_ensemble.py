"""A cluster whose ZooKeeper is an ensemble: its nodes reach each server by a proxy, and outlive any one of them."""

from __future__ import annotations

import pytest

from pytest_kcontroller import Chaos, KCluster
from pytest_kcontroller.cluster.process.cluster import ProcessCluster

pytestmark = pytest.mark.kcontroller(zookeeper=3, nodes=2, backends=["process"])


def process_cluster(kcluster: KCluster) -> ProcessCluster:
    cluster = kcluster._cluster
    assert isinstance(cluster, ProcessCluster)
    return cluster


def test_nodes_know_a_proxy_for_each_server_and_a_cut_is_of_all(kcluster_module: KCluster, chaos: Chaos) -> None:
    cluster = process_cluster(kcluster_module)
    hosts = [[proxy.host for proxy in cluster.links.to_zookeeper(node)] for node in kcluster_module.nodes]
    assert hosts == [[f"127.1.{node + 1}.{octet}" for octet in (252, 253, 254)] for node in kcluster_module.nodes]
    old = kcluster_module.controller
    with chaos.fault("session_expiry", mode="natural", target="controller") as cut:
        assert cut.observed()["cxid"] == 0
        assert kcluster_module.wait_for_controller(other_than=old) != old
    kcluster_module.wait_until_converged()
    with chaos.fault("latency", mode="zookeeper", delay_ms=30) as late:
        assert late.observed()["round_trip_us"] >= 60_000
    with chaos.fault("session_expiry", mode="server") as ended:
        assert ended.observed()["cxid"] != 0
    kcluster_module.wait_until_converged()


def test_a_node_that_joins_knows_them_too(kcluster_module: KCluster) -> None:
    node = kcluster_module.add_node()
    kcluster_module.wait_until_converged()
    assert len(process_cluster(kcluster_module).links.to_zookeeper(node)) == 3
    kcluster_module.check()
