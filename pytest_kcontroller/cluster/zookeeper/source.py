"""Where a ZooKeeper comes from: a JVM of ours (no image), or a container of an image. The one place that chooses."""

from __future__ import annotations

from pathlib import Path

from pytest_kcontroller.cluster.docker.containers import engine
from pytest_kcontroller.cluster.java import find_java, zookeeper_classpath
from pytest_kcontroller.cluster.zookeeper import CONTAINER
from pytest_kcontroller.cluster.zookeeper.container import DEFAULT_IMAGE, ContainerZooKeeper, Place
from pytest_kcontroller.cluster.zookeeper.embedded import EmbeddedZooKeeper
from pytest_kcontroller.cluster.zookeeper.seats import Seat
from pytest_kcontroller.cluster.zookeeper.server import ZooKeeper
from pytest_kcontroller.errors import UsageError


def image_of(choice: str, image: str | None, *, option: str = "") -> str | None:
    """What `--kc-zookeeper` and `--zookeeper` mean: None for `embedded`.

    Raises UsageError if `option` names an image that would not be used.
    """
    if option and image is not None and choice != CONTAINER:
        raise UsageError(f"the image {image} would not be used", where=option, hint="add --zookeeper container")
    return (image or DEFAULT_IMAGE) if choice == CONTAINER else None


def check_zookeeper(image: str | None) -> None:
    """Raises UsageError or EnvironmentFailure if what a start needs is missing; an image is pulled at the start only."""
    if image is None:
        find_java()
        zookeeper_classpath()
    else:
        with engine():
            pass


def make_zookeeper(
    image: str | None,
    directory: Path,
    *,
    log: Path,
    cleanup: Path | None = None,
    txn_log: Path | None = None,
    seat: Seat | None = None,
    place: Place | None = None,
) -> ZooKeeper:
    """One server, not launched yet: see EmbeddedZooKeeper and ContainerZooKeeper, which alone can be in a `place`."""
    if image is None:
        return EmbeddedZooKeeper(directory, log=log, cleanup=cleanup, txn_log=txn_log, seat=seat)
    return ContainerZooKeeper(image, directory, log=log, cleanup=cleanup, txn_log=txn_log, seat=seat, place=place)


async def start_zookeeper(image: str | None, directory: Path, *, log: Path, txn_log: Path | None = None) -> ZooKeeper:
    """One alone: see EmbeddedZooKeeper.start and ContainerZooKeeper.start."""
    if image is None:
        return await EmbeddedZooKeeper.start(directory, log=log, txn_log=txn_log)
    return await ContainerZooKeeper.start(image, directory, log=log, txn_log=txn_log)
