"""Runs of the backend whose nodes are containers: histories, logs and ZooKeeper's log are files here as with processes."""

from __future__ import annotations

from kcontroller_chaos.backends.process import ProcessRun, start_of
from pytest_kcontroller.cluster import java
from pytest_kcontroller.cluster.contained.cluster import ContainedCluster, ContainedSystem
from pytest_kcontroller.cluster.contained.image import base
from pytest_kcontroller.cluster.contained.room import chosen_here
from pytest_kcontroller.cluster.process import proxy_server
from pytest_kcontroller.cluster.process.proxy_choice import Choice
from pytest_kcontroller.cluster.zookeeper.container import DEFAULT_IMAGE
from pytest_kcontroller.cluster.zookeeper.source import check_zookeeper

__all__ = ("check", "new_run", "play", "start_of", "versions")


class DockerRun(ProcessRun):
    """See ProcessRun."""

    made_of = ContainedCluster
    made_of_programs = ContainedSystem


def check(zookeeper_image: str | None) -> None:
    chosen_here()
    proxy_server.check(Choice("embedded"))  # the nodes' image has what that needs, whichever is chosen
    check_zookeeper(zookeeper_image or DEFAULT_IMAGE)


def versions(zookeeper_image: str | None) -> dict[str, str]:
    proxies = proxy_server.versions(chosen_here())
    return {**java.versions(zookeeper_image or DEFAULT_IMAGE), **proxies, "node base": base()}


new_run, play = DockerRun.new, DockerRun.play
