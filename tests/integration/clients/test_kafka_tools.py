"""Kafka's own tools on a running cluster: 3.9.1's, which ask the controller, and 2.8.2's, which write znodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_kcontroller import KCluster

pytestmark = pytest.mark.kcontroller(nodes=3, backends=["process"])


def reassignment(directory: Path, topic: str, *replicas: int) -> str:
    """The file that kafka-reassign-partitions reads."""
    path = directory / f"{topic}.json"
    partition = {"topic": topic, "partition": 0, "replicas": list(replicas)}
    path.write_text(json.dumps({"version": 1, "partitions": [partition]}), encoding="utf-8")
    return str(path)


def replicas_of(kcluster: KCluster, topic: str) -> dict[str, list[int]]:
    znode = json.loads(kcluster.zk.get(f"/brokers/topics/{topic}")[0])
    assert znode["adding_replicas"] == {}
    found: dict[str, list[int]] = znode["partitions"]
    return found


def test_tools_of_3_9_1_ask_the_controller(kcluster_module: KCluster, kafka_release: Any, tmp_path: Path) -> None:
    kafka, servers = kafka_release("3.9.1"), ("--bootstrap-server", kcluster_module.bootstrap_servers)
    kcluster_module.wait_until_converged()
    said = kafka.tool("kafka-topics", *servers, "--create", "--topic", "new", "--replica-assignment", "0:1,1:2")
    assert "Created topic new." in said
    said = kafka.tool("kafka-topics", *servers, "--describe", "--topic", "new")
    assert "Partition: 1\tLeader: 1\tReplicas: 1,2\tIsr: 1,2" in said
    moved = reassignment(tmp_path, "new", 2, 1)
    said = kafka.tool("kafka-reassign-partitions", *servers, "--execute", "--reassignment-json-file", moved)
    assert "Successfully started partition reassignment for new-0" in said
    kcluster_module.wait_until_converged()
    said = kafka.tool("kafka-reassign-partitions", *servers, "--verify", "--reassignment-json-file", moved)
    assert "Reassignment of partition new-0 is completed." in said
    assert replicas_of(kcluster_module, "new") == {"0": [2, 1], "1": [1, 2]}
    preferred = ("--election-type", "preferred", "--topic", "new", "--partition", "0")
    assert "Valid replica already elected" in kafka.tool("kafka-leader-election", *servers, *preferred)


def test_tools_of_2_8_2_write_znodes(kcluster_module: KCluster, kafka_release: Any, tmp_path: Path) -> None:
    kafka, zookeeper = kafka_release("2.8.2"), ("--zookeeper", kcluster_module.zookeeper)
    said = kafka.tool("kafka-topics", *zookeeper, "--create", "--topic", "old", "--replica-assignment", "0:1")
    assert "Created topic old." in said
    kcluster_module.wait_until_converged()
    moved = reassignment(tmp_path, "old", 1, 2)
    kafka.tool("kafka-reassign-partitions", *zookeeper, "--execute", "--reassignment-json-file", moved)
    kcluster_module.wait_until_converged()
    assert replicas_of(kcluster_module, "old") == {"0": [1, 2]}
    assert "Topic old is marked for deletion." in kafka.tool("kafka-topics", *zookeeper, "--delete", "--topic", "old")
    kcluster_module.wait_until_converged()
    assert kcluster_module.zk.exists("/brokers/topics/old") is None
