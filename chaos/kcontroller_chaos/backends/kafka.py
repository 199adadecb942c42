"""Runs of the backend `kafka`: real processes as with `process`, the nodes being brokers of a release of Apache Kafka."""

from __future__ import annotations

from kcontroller_chaos.backends import process
from kcontroller_chaos.backends.process import ProcessRun, start_of
from pytest_kcontroller.cluster import java
from pytest_kcontroller.cluster.kafka.cluster import KafkaCluster, chosen_release
from pytest_kcontroller.cluster.kafka.jars import check_places

__all__ = ("check", "new_run", "play", "start_of", "versions")


class KafkaRun(ProcessRun):
    """See ProcessRun."""

    made_of = KafkaCluster


def check(zookeeper_image: str | None) -> None:
    process.check(zookeeper_image)
    java.find_java()
    check_places(chosen_release())


def versions(zookeeper_image: str | None) -> dict[str, str]:
    return {**process.versions(zookeeper_image), "kafka": chosen_release()}


new_run, play = KafkaRun.new, KafkaRun.play
