"""Runs of the backend `kafka`: real processes as with `process`, the nodes being brokers of a release of Apache Kafka."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from kcontroller_chaos.backends import process
from kcontroller_chaos.backends.process import ProcessRun, play_run, start_of
from kcontroller_chaos.backends.run import Run
from kcontroller_chaos.history.rundir import RunDirectory
from pytest_kcontroller.cluster import java
from pytest_kcontroller.cluster.kafka.cluster import KafkaCluster, chosen_release
from pytest_kcontroller.cluster.kafka.jars import check_places
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.process.ground import Grounds
from pytest_kcontroller.cluster.zookeeper.source import check_zookeeper
from pytest_kcontroller.runtime.real import RunStart

__all__ = ("check", "new_run", "play", "start_of", "versions")


class KafkaRun(ProcessRun):
    """See ProcessRun."""

    made_of = KafkaCluster


def check(zookeeper_image: str | None) -> None:
    check_zookeeper(zookeeper_image)
    java.find_java()
    check_places(chosen_release())


def versions(zookeeper_image: str | None) -> dict[str, str]:
    return {**process.versions(zookeeper_image), "kafka": chosen_release()}


def new_run(settings: ClusterSettings, directory: Path, grounds: Grounds | None = None) -> KafkaRun:
    """Nothing is handed on: the proxies of brokers depend on their names."""
    return KafkaRun(settings, directory, RunStart.now())


async def play(
    settings: ClusterSettings,
    directory: RunDirectory,
    work: Callable[[Run], Coroutine[Any, Any, None]],
    limit_s: float,
) -> None:
    await play_run(
        KafkaRun(settings, directory.path, directory.start, zookeeper_log=directory.zookeeper), work, limit_s
    )
