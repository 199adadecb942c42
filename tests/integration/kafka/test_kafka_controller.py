"""Apache Kafka's own controller among stub brokers. The page on releases shows this file."""

import pytest

pytestmark = pytest.mark.kcontroller(backends=["process"])


def test_kafkas_controller_replaces_a_leader_that_goes(kafka_release, zookeeper, kc_stub_brokers):
    release = kafka_release("3.9.1")
    broker = release.start_broker(zookeeper, id=1, config={"auto.leader.rebalance.enable": False})
    stubs = kc_stub_brokers(2)

    said = release.tool(
        "kafka-topics",
        *("--bootstrap-server", broker.bootstrap_server),
        *("--create", "--topic", "orders", "--replica-assignment", "101:102"),
    )

    assert "Created topic orders." in said
    stubs[102].wait_until_led("orders", by=101)
    stubs[101].stop()
    stubs[102].wait_until_led("orders", by=102)
    assert {request.controller for request in stubs[102].requests} == {1}
    assert stubs[102].refused == ()
