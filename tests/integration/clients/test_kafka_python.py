"""kafka-python's admin client and kcat on a running cluster, all of them on one."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from pytest_kcontroller import KCluster
from pytest_kcontroller.cluster.timing import scaled
from tests.tools.kafka_python import (
    AdminClient,
    ConfigResource,
    NewPartitions,
    NewTopic,
    TopicPartition,
    admin_client,
)
from tests.tools.left_sockets import IGNORED, left_sockets  # noqa: F401 (the second is a fixture)
from tests.tools.required import not_here

pytestmark = [pytest.mark.kcontroller(nodes=3, backends=["process"]), pytest.mark.filterwarnings(IGNORED)]
LIMIT_S = 30
UNCLEAN = "unclean.leader.election.enable"


@pytest.fixture
def admin(kcluster_module: KCluster) -> Iterator[AdminClient]:
    kcluster_module.wait_until_converged()
    with admin_client(kcluster_module.bootstrap_servers) as client:
        yield client


def in_zookeeper(kcluster: KCluster, path: str) -> dict[str, object]:
    value: dict[str, object] = json.loads(kcluster.zk.get(path)[0])
    return value


def test_a_client_is_told_the_addresses_of_its_own_links(kcluster_module: KCluster, admin: AdminClient) -> None:
    told = admin.describe_cluster()
    brokers = sorted(told["brokers"], key=lambda broker: broker["broker_id"])
    addresses = [f"{broker['host']}:{broker['port']}" for broker in brokers]
    assert ",".join(addresses) == kcluster_module.bootstrap_servers
    assert [address.rpartition(":")[0] for address in addresses] == ["127.4.251.1", "127.4.251.2", "127.4.251.3"]
    assert told["controller_id"] == kcluster_module.controller
    assert told["cluster_id"] == in_zookeeper(kcluster_module, "/cluster/id")["id"]


def test_a_topic_is_created_described_enlarged_and_deleted(kcluster_module: KCluster, admin: AdminClient) -> None:
    path = "/brokers/topics/orders"
    admin.create_topics([NewTopic("orders", num_partitions=2, replication_factor=3)])
    assert "orders" in admin.list_topics()
    kcluster_module.wait_until_converged()
    (told,) = admin.describe_topics(["orders"])
    for partition in told["partitions"]:
        state = in_zookeeper(kcluster_module, f"{path}/partitions/{partition['partition_index']}/state")
        assert (partition["leader_id"], sorted(partition["isr_nodes"])) == (state["leader"], [0, 1, 2])
    admin.create_partitions({"orders": NewPartitions(4)})
    assert sorted(in_zookeeper(kcluster_module, path)["partitions"]) == ["0", "1", "2", "3"]  # type: ignore[call-overload]
    kcluster_module.wait_until_converged()
    assert len(admin.describe_topics(["orders"])[0]["partitions"]) == 4
    admin.delete_topics(["orders"])
    assert "orders" not in admin.list_topics()
    kcluster_module.wait_until_converged()
    assert kcluster_module.zk.exists(path) is None


def test_configs_are_altered(kcluster_module: KCluster, admin: AdminClient) -> None:
    admin.create_topics([NewTopic("configured", num_partitions=1, replication_factor=3)])
    admin.alter_configs([ConfigResource("TOPIC", "configured", configs={UNCLEAN: "true"})])
    assert in_zookeeper(kcluster_module, "/config/topics/configured")["config"] == {UNCLEAN: "true"}
    (described,) = admin.describe_configs([ConfigResource("TOPIC", "configured")], config_filter="all").values()
    assert described["configured"][UNCLEAN]["value"] == "true"


def test_replicas_are_reassigned_and_leaders_elected(kcluster_module: KCluster, admin: AdminClient) -> None:
    kcluster_module.create_topic("moved", assignment={0: (0, 1)})
    kcluster_module.wait_until_converged()
    tp = TopicPartition("moved", 0)
    admin.alter_partition_reassignments({tp: [2, 1]})
    kcluster_module.wait_until_converged()
    assert in_zookeeper(kcluster_module, "/brokers/topics/moved")["partitions"] == {"0": [2, 1]}
    assert admin.list_partition_reassignments() == {}
    kcluster_module.kill(2)
    kcluster_module.wait_until_converged()
    kcluster_module.restart(2)
    kcluster_module.wait_until_converged()
    state = "/brokers/topics/moved/partitions/0/state"
    assert in_zookeeper(kcluster_module, state)["leader"] == 1
    admin.elect_leaders(0, {"moved": [0]})
    assert in_zookeeper(kcluster_module, state)["leader"] == 2


def test_kcat_lists_topics_and_leaders(kcluster_module: KCluster) -> None:
    kcluster_module.create_topic("listed", partitions=2, replication_factor=3)
    kcluster_module.wait_until_converged()
    said = kcat(kcluster_module, "-L")
    assert "3 brokers:" in said
    assert 'topic "listed" with 2 partitions:' in said
    for partition in (0, 1):
        state = in_zookeeper(kcluster_module, f"/brokers/topics/listed/partitions/{partition}/state")
        assert f"partition {partition}, leader {state['leader']}, replicas:" in said
    told = json.loads(kcat(kcluster_module, "-L", "-J"))
    assert told["controllerid"] == kcluster_module.controller


def test_only_clients_notice_that_their_link_is_cut(kcluster_module: KCluster) -> None:
    controller, epoch = kcluster_module.controller, kcluster_module.controller_epoch
    kcluster_module.net.cut("client", controller)
    ran = run_kcat(kcluster_module.bootstrap_servers.split(",")[controller], "-L", "-m", "1")
    assert ran.returncode != 0
    kcluster_module.create_topic("meanwhile", partitions=3, replication_factor=3)
    kcluster_module.wait_until_converged()
    assert (kcluster_module.controller, kcluster_module.controller_epoch) == (controller, epoch)
    kcluster_module.net.heal("client")
    assert 'topic "meanwhile" with 3 partitions:' in kcat(kcluster_module, "-L")


def test_the_answers_are_in_the_history_and_true(kcluster_module: KCluster, admin: AdminClient) -> None:
    admin.create_topics([NewTopic("told", num_partitions=3, replication_factor=2)])
    kcluster_module.wait_until_converged()
    told = [event for event in kcluster_module.history if event["kind"] == "broker.answered-client"]
    (created,) = [event for event in told if event["znode"] == "/brokers/topics/told"]
    assert (created["api"], created["holds"]["partitions"]) == ("CreateTopics", 3)
    kcluster_module.check()


def kcat(kcluster: KCluster, *arguments: str) -> str:
    ran = run_kcat(kcluster.bootstrap_servers, *arguments)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def run_kcat(servers: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = shutil.which("kcat")
    if command is None:
        not_here("kcat", "kcat is not installed (Debian: kcat)")
    return subprocess.run(
        [command, "-b", servers, *arguments], capture_output=True, text=True, timeout=scaled(LIMIT_S), check=False
    )
