"""Whether a release works here: it is got, and one broker of it becomes the controller on a ZooKeeper of its own."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pytest_kcontroller.cluster.children.directories import session_directory
from pytest_kcontroller.cluster.java import find_java
from pytest_kcontroller.cluster.kafka.broker import BrokerSettings, KafkaBroker
from pytest_kcontroller.cluster.kafka.jars import KafkaPlaces, release_jars
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.embedded import EmbeddedZooKeeper
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.runtime.timeouts import within
from pytest_kcontroller.zookeeper.kazoo_session import KazooConnector
from pytest_kcontroller.zookeeper.session import SessionEvent
from pytest_kcontroller.zookeeper.store import Store
from pytest_kcontroller.zookeeper.znodes import CONTROLLER

CONTROLLER_S = 30.0
POLL_S = 0.05


async def try_release(version: str) -> tuple[float, Path]:
    """The seconds from the broker's start until it is the controller, and the directory of the jars.

    Raises UsageError, EnvironmentFailure (a StartError has the last lines of the log).
    """
    java, jars = find_java(), await release_jars(version, KafkaPlaces.of())
    with session_directory() as directory:
        zookeeper = await EmbeddedZooKeeper.start(directory / "zookeeper", log=directory / "zookeeper.log")
        try:
            settings = BrokerSettings(
                id=0,
                version=version,
                java=java,
                classpath=f"{jars}/*",
                zookeeper=str(zookeeper.address),
                directory=directory / "broker-0",
            )
            broker = KafkaBroker(settings, directory / "broker-0.log")
            began = asyncio.get_running_loop().time()
            try:
                await broker.start()
                await _until_controller(str(zookeeper.address))
                return asyncio.get_running_loop().time() - began, jars
            finally:
                await broker.kill()
        finally:
            await zookeeper.stop()


async def _until_controller(zookeeper: str) -> None:
    store = await Store.open(KazooConnector(zookeeper, timeout_ms=10_000), _ignore)
    try:
        async with within(scaled(CONTROLLER_S)):
            while await store.exists(CONTROLLER) is None:  # noqa: ASYNC110 - from outside it is only seen
                await asyncio.sleep(POLL_S)
    except TimeoutError:
        raise EnvironmentFailure(f"the broker was not the controller within {CONTROLLER_S:g} s") from None
    finally:
        await store.session.close()


def _ignore(store: Store, event: SessionEvent) -> None:
    """Nobody watches."""
